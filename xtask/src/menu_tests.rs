use super::{Command, GROUPS, help, parse};
use crate::bench::Bench;
use crate::ci::Selection;
use crate::deny::Scope;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn no_arguments_and_help_flags_show_the_help() {
    for line in ["", "-h", "--help", "help"] {
        assert_eq!(parse(&words(line)).unwrap(), Command::Help, "{line:?}");
    }
}

#[test]
fn every_command_in_the_help_parses() {
    for (usage, _) in GROUPS.iter().flat_map(|group| group.commands) {
        let line = usage.split('[').next().unwrap().replace("NAME", "machine");
        assert!(parse(&words(&line)).is_ok(), "{usage}");
        assert!(help().contains(usage));
    }
}

#[test]
fn flags_select_the_variant() {
    assert_eq!(parse(&words("ci")).unwrap(), Command::Ci(Selection::All));
    assert_eq!(parse(&words("ci --skip-proofs")).unwrap(), Command::Ci(Selection::WithoutProofs));
    assert_eq!(parse(&words("ci --from test")).unwrap(), Command::Ci(Selection::From("test".to_owned())));
    assert_eq!(parse(&words("deny")).unwrap(), Command::Deny(Scope::Offline));
    assert_eq!(parse(&words("deny --advisories")).unwrap(), Command::Deny(Scope::WithAdvisories));
}

#[test]
fn passes_on_the_arguments_of_simulate_and_bench() {
    assert_eq!(parse(&words("simulate --seeds 5")).unwrap(), Command::Simulate(words("--seeds 5")));
    let bench = Bench::parse(&words("runs --short")).unwrap();
    assert_eq!(parse(&words("bench runs --short")).unwrap(), Command::Bench(bench));
}

#[test]
fn unknown_command_error_names_it_and_the_help() {
    let error = parse(&words("lasso")).unwrap_err().to_string();
    assert!(error.contains("`lasso`") && error.contains("--help"), "{error}");
    for line in ["layers now", "ci --fast", "deny --advisories twice"] {
        assert!(parse(&words(line)).is_err(), "{line}");
    }
}

#[test]
fn help_groups_commands_under_headings_with_one_line_each() {
    let text = help();
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix(':')).collect();
    assert_eq!(headings, ["Check", "Prove", "Bench", "Release"]);
    for (usage, description) in GROUPS.iter().flat_map(|group| group.commands) {
        assert!(text.lines().any(|line| line.trim_start().starts_with(usage) && line.ends_with(description)));
    }
}
