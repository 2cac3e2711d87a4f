//! Recognizes a prompt without `run`: `lariat "fix it"`, `lariat fix the tests`, `lariat -c "and now?"`.
//!
//! A first word that is one typo away from a command, followed by at most one word, is reported as a typo. Anything else that
//! does not start with a command is a prompt, and so is `lariat plan the migration`: a command that needs a subcommand, followed by at
//! least two words of which the first is not a subcommand.

use std::ffi::OsString;

use clap::CommandFactory as _;
use lariat_core::nearest::nearest_within;

use super::Args;

/// Words that clap handles itself.
const OWN: &[&str] = &["-h", "--help", "-V", "--version", "help"];

/// Inserts `run` before a prompt without a command, and says whether it did. The first argument is the program name.
pub(crate) fn as_command(mut arguments: Vec<OsString>) -> (Vec<OsString>, bool) {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let inserts = is_prompt(&words);
    if inserts {
        arguments.insert(1, "run".into());
    }
    (arguments, inserts)
}

fn is_prompt(words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    if OWN.contains(&first.as_str()) || first.is_empty() {
        return false;
    }
    if first.starts_with('-') || first.contains(char::is_whitespace) {
        return true;
    }
    let command = Args::command();
    let mut known = command.get_subcommands().flat_map(|known| known.get_name_and_visible_aliases());
    if known.any(|name| name == first) {
        let needs_subcommand =
            command.find_subcommand(first).is_some_and(clap::Command::is_subcommand_required_set);
        return needs_subcommand
            && rest.len() > 1
            && rest.first().is_some_and(|next| next != "help")
            && !is_below(&command, first, rest);
    }
    // Short words are one letter away from many others.
    let slips = if first.chars().count() > 5 { 2 } else { 1 };
    let names = command.get_subcommands().filter(|known| !known.is_hide_set()).map(clap::Command::get_name);
    match nearest_within(first, names, slips) {
        None => true,
        Some(near) => rest.len() > 1 && !is_below(&command, near, rest),
    }
}

/// Whether the next word is a subcommand of `near` or an option: `sesions list`, `udno --list`.
fn is_below(command: &clap::Command, near: &str, rest: &[String]) -> bool {
    let Some(first) = rest.first() else { return false };
    let below = command.find_subcommand(near).into_iter().flat_map(clap::Command::get_subcommands);
    first.starts_with('-')
        || below.flat_map(|known| known.get_name_and_visible_aliases()).any(|name| name == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(words: &[&str]) -> bool {
        is_prompt(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_without_command_are_a_prompt() {
        assert!(is(&["fix the tests"]));
        assert!(is(&["fix", "the", "tests"]));
        assert!(is(&["plan", "the", "migration"]));
        assert!(!is(&["plan", "approve", "1"]) && !is(&["plan", "shw"]) && !is(&["plan", "help", "show"]));
        assert!(is(&["hello"]));
        assert!(is(&["-c", "and now?"]));
        assert!(is(&["--mode", "plan", "look around"]));
        assert!(is(&["can", "you", "help", "me"]), "`can` is a letter away from `man`");
    }

    #[test]
    fn commands_and_typos_are_not_a_prompt() {
        for words in [
            &["run", "x"][..],
            &["r", "x"],
            &["sessions", "list"],
            &["--help"],
            &["-V"],
            &["help", "run"],
            &[],
            &[""],
            &["sesions"],
            &["sesions", "list"],
            &["sesions", "list", "--json"],
            &["modles"],
            &["udno", "--list", "--json"],
            &["rnu", "do it"],
        ] {
            assert!(!is(words), "{words:?}");
        }
    }
}
