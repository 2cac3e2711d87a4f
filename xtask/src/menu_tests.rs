use super::{Command, ENTRIES, help, parse};
use crate::bench::Bench;
use crate::ci::Proofs;
use crate::deny::Scope;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn no_words_and_help_words_show_the_help() {
    for line in ["", "-h", "--help", "help"] {
        assert_eq!(parse(&words(line)).unwrap(), Command::Help, "{line:?}");
    }
}

#[test]
fn every_entry_of_the_help_parses() {
    for (usage, _) in ENTRIES {
        let line = usage.split('[').next().unwrap().replace("NAME", "machine");
        assert!(parse(&words(&line)).is_ok(), "{usage}");
        assert!(help().contains(usage));
    }
}

#[test]
fn flags_choose_the_variant() {
    assert_eq!(parse(&words("ci")).unwrap(), Command::Ci(Proofs::Run));
    assert_eq!(parse(&words("ci --skip-proofs")).unwrap(), Command::Ci(Proofs::Skip));
    assert_eq!(parse(&words("deny")).unwrap(), Command::Deny(Scope::Offline));
    assert_eq!(parse(&words("deny --advisories")).unwrap(), Command::Deny(Scope::WithAdvisories));
}

#[test]
fn arguments_of_simulate_and_bench_are_passed_on() {
    assert_eq!(parse(&words("simulate --seeds 5")).unwrap(), Command::Simulate(words("--seeds 5")));
    let bench = Bench::parse(&words("runs --short")).unwrap();
    assert_eq!(parse(&words("bench runs --short")).unwrap(), Command::Bench(bench));
}

#[test]
fn an_unknown_word_is_named_and_points_to_the_help() {
    let error = parse(&words("lasso")).unwrap_err().to_string();
    assert!(error.contains("`lasso`") && error.contains("--help"), "{error}");
    for line in ["layers now", "ci --fast", "deny --advisories twice"] {
        assert!(parse(&words(line)).is_err(), "{line}");
    }
}
