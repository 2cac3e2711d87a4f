use std::collections::BTreeSet;

use clap::CommandFactory as _;
use lariat_service::config::KEYS;

use super::restricting::{InputKind, RESTRICTING};
use super::{Args, RESTRICTING_FLAGS};

const DOCUMENT: &str = include_str!("../../../../docs/permissions.md");

/// Flags of `lariat run` that do not restrict. Add a new flag here or to the table.
const OTHERS: &[&str] = &[
    "--prompt",
    "--detach",
    "--output",
    "--output-schema",
    "--rerun",
    "--resume",
    "--continue",
    "--fork",
    "--rerun",
    "--model",
    "--allow",
    "--trust",
    "--no-sandbox",
    "--network",
    "--approve-plan",
    "--cwd",
    "--add-dir",
    "--session-id",
    "--image",
    "--ephemeral",
    "--include-partial-messages",
    "--verbose",
    "--help",
];

fn names(kind: InputKind) -> BTreeSet<&'static str> {
    RESTRICTING.iter().filter(|one| one.kind == kind).map(|one| one.name).collect()
}

#[test]
fn table_lists_every_restricting_setting() {
    let known: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
    let restricting: BTreeSet<&str> = KEYS.iter().filter(|key| key.restricts).map(|key| key.name).collect();
    let table: BTreeSet<&str> =
        names(InputKind::Setting).into_iter().filter(|name| known.contains(name)).collect();
    assert_eq!(table, restricting);
}

#[test]
fn table_lists_every_restricting_flag() {
    let args = Args::command();
    let run = args.find_subcommand("run").unwrap();
    let flags = run.get_arguments().filter_map(|flag| Some(format!("--{}", flag.get_long()?)));
    let table = names(InputKind::Flag);
    for flag in flags {
        assert!(
            table.contains(flag.as_str()) || OTHERS.contains(&flag.as_str()),
            "{flag}: does it restrict?"
        );
    }
    assert_eq!(table, RESTRICTING_FLAGS.iter().copied().collect());
}

#[test]
fn table_lists_every_refused_claude_code_setting() {
    let table = names(InputKind::ClaudeSetting);
    for (key, _) in lariat_service::local::RESTRICTING {
        assert!(table.contains(key), "{key}");
    }
}

#[test]
fn docs_contain_the_table() {
    let row = |one: &super::restricting::RestrictingInput| {
        let (what, place) = match one.kind {
            InputKind::Setting => ("setting", "the file and the line, or the variable"),
            InputKind::Flag => ("flag of `lariat run`", "the flag"),
            InputKind::ClaudeFlag => ("Claude Code flag", "the flag"),
            InputKind::Permissions => {
                ("`permissions` in any settings file, trusted or not", "the file and the line")
            }
            InputKind::Hooks => ("`hooks` in a settings file in effect", "the file and the line"),
            InputKind::ClaudeSetting => ("Claude Code setting", "the file and the line"),
            InputKind::File => ("settings file", "the file"),
        };
        format!("| {what} | `{}` | `{}` | {place} |\n", one.name, one.broken)
    };
    let rows: String = RESTRICTING.iter().map(row).collect();
    let table = format!(
        "<!-- restricting:begin -->\n| input | name | example of an invalid value | the error names |\n\
         | --- | --- | --- | --- |\n{rows}<!-- restricting:end -->"
    );
    assert!(DOCUMENT.contains(&table), "docs/permissions.md should say\n{table}");
}
