//! Tests options through which allowed programs run others: abbreviated, combined with other letters, in
//! scripts of the program.
//!
//! A rule allows the program; the command runs the real program in the jail. If `payload` was started or
//! `written` was opened, the guard must have asked for approval. The same run is also the control: many of
//! these commands must fire, and some that do not must be allowed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use lariat_core::tool::ToolEffects;
use lariat_guard::{
    Effect, Guard, GuardDecision, Layer, NoLinks, Origin, Query, SessionDirectories, Settings, Trust,
};
use lariat_test::SeededRandom;
use serde_json::json;

use super::jail::Jail;

/// Commands per jail.
const BATCH: usize = 250;

/// An option with its value, its full spelling, and the words around it that it needs to have an effect.
struct Case {
    program: &'static str,
    /// Words before the option.
    before: &'static str,
    /// `--name` or `-x`; if empty, a script for `sed`.
    option: &'static str,
    value: &'static str,
    /// Words after the option.
    after: &'static str,
    /// Letters that may precede it in a combined option.
    letters: &'static str,
}

const fn case(
    program: &'static str,
    before: &'static str,
    option: &'static str,
    value: &'static str,
    after: &'static str,
    letters: &'static str,
) -> Case {
    Case { program, before, option, value, after, letters }
}

const CASES: &[Case] = &[
    case("tar", "cf /dev/null a.txt --checkpoint=1", "--checkpoint-action", "exec=payload", "", ""),
    case("tar", "cf out.tar a.txt", "--use-compress-program", "payload", "", ""),
    case("tar", "", "-I", "payload", "-f out.tar a.txt", "cv"),
    case("tar", "cIf payload out.tar a.txt", "", "", "", ""),
    case("tar", "cvIf payload out.tar a.txt", "", "", "", ""),
    case("tar", "-c -L 1 -f out.tar a.txt", "--info-script", "payload", "", ""),
    case("tar", "cf out.tar a.txt", "--verbose", "", "", "v"),
    case("sort", "", "-o", "written", "a.txt", "rnufbd"),
    case("sort", "a.txt", "--output", "written", "", ""),
    case("sort", "a.txt", "--reverse", "", "", ""),
    case("sort", "-S 1 a.txt names", "--compress-program", "payload", "", ""),
    case("split", "", "--filter", "payload", "a.txt", ""),
    case("split", "-l 1 a.txt", "--verbose", "", "", ""),
    case("git", "ls-remote", "--upload-pack", "payload", ".", ""),
    case("git", "ls-remote", "--exec", "payload", ".", ""),
    case("git", "clone", "-u", "payload", ". new", "qv"),
    case("git", "clone", "--upload-pack", "payload", ". new", ""),
    case("git", "fetch", "--upload-pack", "payload", ".", ""),
    case("git", "grep --untracked", "-O", "payload", "one", "nilw"),
    case("git", "grep --untracked", "--open-files-in-pager", "payload", "one", ""),
    case("git", "", "-c", "alias.x=!payload", "x", ""),
    case("git", "diff --no-index a.txt names", "--output", "written", "", ""),
    case("git", "status", "--short", "", "", "sb"),
    case("git", "clone ext::payload new", "", "", "", ""),
    case("git", "push", "--receive-pack", "payload", ". HEAD", ""),
    case("find", "a.txt", "-exec", "payload", "{} +", ""),
    case("find", "a.txt", "-execdir", "payload", "{} +", ""),
    case("find", "a.txt", "-fprint", "written", "", ""),
    case("find", ".", "-name", "x", "", ""),
    case("awk", "", "", "", "'BEGIN{system(\"payload\")}'", ""),
    case("awk", "", "", "", "'BEGIN{\"payload\"|getline}'", ""),
    case("awk", "", "", "", "'BEGIN{print>\"written\"}'", ""),
    case("awk", "", "", "", "'{print $1}' a.txt", ""),
];

const ADDRESSES: &[&str] = &["", "1", "$", "1,2", "/o/", "1!", "/o/,$", "0~1", "2,+1", "1 ", "/o/I"];
const COMMANDS: &[&str] = &[
    "e payload",
    "e",
    "p",
    "d",
    "w written",
    "s/o/payload/e",
    "s/.*/payload/ge",
    "s/o/x/w written",
    "s/o/x/g",
    "s|o|x|",
    "W written",
    "=",
    "y/o/x/",
    "{p;e payload\n}",
    "{p}",
    "a text",
    "n;e payload",
    "N;s/o/payload/e",
    "l;e payload",
    "q",
    "s/[/]/x/;e payload",
    "b;e payload",
    "s/a/b/;;e payload",
    "r a.txt",
    "#e\ne payload",
    "h;G;e payload",
];
const JOINTS: &[&str] = &[";", "\n", " ; ", ";;", "\n\n", " "];

/// Programs that are real in the jail.
const PROGRAMS: &[&str] = &["awk", "git", "sed", "sort", "split", "tar"];

/// Generates a command and returns its program.
fn command(random: &mut SeededRandom) -> (&'static str, String) {
    if random.chance(35) {
        return ("sed", sed(random));
    }
    let Some(case) = random.pick(CASES) else { return ("sed", sed(random)) };
    let option = match case.option.strip_prefix("--") {
        Some(long) => {
            let cut =
                long.len() - (random.below(long.len() as u64 - 1) as usize) * usize::from(random.chance(80));
            let name = long.get(..cut).unwrap_or(long);
            match (case.value.is_empty(), random.chance(60)) {
                (true, _) => format!("--{name}"),
                (_, true) => format!("--{name}='{}'", case.value),
                _ => format!("--{name} '{}'", case.value),
            }
        }
        None if case.option.is_empty() => String::new(),
        None if case.program == "find" => format!("{} '{}'", case.option, case.value),
        None => {
            let letters: Vec<char> = case.letters.chars().collect();
            let row: String = (0..random.below(3)).filter_map(|_| random.pick(&letters).copied()).collect();
            let letter = case.option.trim_start_matches('-');
            let row = if case.program == "tar" { format!("c{row}") } else { row };
            let blank = if random.chance(50) && letter != "O" { " " } else { "" };
            format!("-{row}{letter}{blank}'{}'", case.value)
        }
    };
    let mut words = [case.before, &option];
    if random.chance(20) && !matches!(case.program, "git" | "find" | "awk") {
        words.reverse();
    }
    (case.program, format!("{} {} {}", case.program, words.join(" "), case.after))
}

fn sed(random: &mut SeededRandom) -> String {
    let mut one = |items: &[&'static str]| random.pick(items).copied().unwrap_or_default();
    let mut script = format!("{}{}", one(ADDRESSES), one(COMMANDS));
    if one(&["", "", "x"]) == "x" {
        script = format!("{script}{}{}{}", one(JOINTS), one(ADDRESSES), one(COMMANDS));
    }
    let quoted = format!("'{}'", script.replace('\'', "'\\''"));
    match one(&[
        "",
        "-n",
        "-e",
        "-ne",
        "-E",
        "-s",
        "--expression=",
        "--expr=",
        "--quiet",
        "-f",
        "-i",
        "-ni.bak",
        "-p",
        "after",
    ]) {
        option @ ("--expression=" | "--expr=" | "-e" | "-ne") => format!("sed {option}{quoted} a.txt"),
        "-f" => format!("sed -f evil.sed a.txt {quoted}"),
        "-p" => format!("sed -e p -e {quoted} a.txt"),
        "after" => format!("sed p a.txt -e {quoted}"),
        option => format!("sed {option} {quoted} a.txt"),
    }
}

/// Generates, judges and runs commands, and prints the figures. Returns whether no allowed command fired.
pub(crate) fn print_figures(count: usize, seed: u64) -> Result<bool, String> {
    let start = Instant::now();
    let jail = Jail::make(PROGRAMS)?;
    let (mut fired, mut allowed, mut faults) = (BTreeMap::<&str, usize>::new(), 0, Vec::new());
    for first in (0..count).step_by(BATCH) {
        let seeds = (first..count.min(first + BATCH)).map(|index| seed + index as u64);
        let batch: Vec<(&str, String)> = seeds.map(|seed| command(&mut SeededRandom::new(seed))).collect();
        let seen = jail.run(batch.iter().map(|(_, text)| text.as_str()))?;
        for ((program, text), seen) in batch.iter().zip(&seen) {
            let is_payload = |path: &str| matches!(path.rsplit('/').next(), Some("payload" | "written"));
            let has_fired = seen.started.iter().any(|(path, _)| is_payload(path))
                || seen.written.iter().chain(&seen.written_by_programs).any(|path| is_payload(path));
            let is_allowed = verdict(program, text) == GuardDecision::Allow;
            *fired.entry(program).or_default() += usize::from(has_fired);
            allowed += usize::from(is_allowed);
            if has_fired && is_allowed {
                faults.push(text.clone());
            }
        }
    }
    let silent: Vec<&&str> =
        fired.iter().filter(|(_, times)| **times == 0).map(|(program, _)| program).collect();
    let all: usize = fired.values().sum();
    println!(
        "options: {count} commands of programs that a rule allows; {all} ran or wrote something through an option, {allowed} were allowed, \
         {} did both; {:.1} s",
        faults.len(),
        start.elapsed().as_secs_f64()
    );
    println!("  fired: {fired:?}");
    faults.iter().take(20).for_each(|text| println!("  allowed and fired: {text:?}"));
    if count >= 1_000 && !silent.is_empty() {
        println!("  no option of {silent:?} ever fired: the control is broken");
        return Ok(false);
    }
    Ok(faults.is_empty() && allowed > 0)
}

fn verdict(program: &str, text: &str) -> GuardDecision {
    let layer = Layer::new(Origin::flags()).with_rule(Effect::Allow, &format!("Bash({program} *)"));
    let settings = Settings::merge([layer], Trust::Trusted);
    let guard =
        Guard::new(settings, SessionDirectories::new("/ground/place", "/ground/home"), Arc::new(NoLinks));
    let arguments = json!({ "command": text });
    guard.judge(&Query::new("bash", &arguments, ToolEffects::ALL)).verdict
}
