use std::time::Duration;

use super::{Outcome, Proofs, Runner, steps, table};
use crate::workspace::Workspace;

fn lines(proofs: Proofs) -> Vec<(&'static str, String)> {
    let steps = steps(&Workspace::fake("target"), Runner::Nextest, proofs).unwrap();
    steps.iter().map(|step| (step.name, step.action.to_string())).collect()
}

#[test]
fn proofs_come_last_and_only_when_wanted() {
    let all = lines(Proofs::Run);
    let quick = lines(Proofs::Skip);
    assert_eq!(all[..quick.len()], quick[..]);
    let proofs: Vec<&str> = all[quick.len()..].iter().map(|(name, _)| *name).collect();
    assert_eq!(
        proofs,
        [
            "simulate",
            "simulate-planted",
            "sse",
            "histories",
            "faults",
            "prefix",
            "prefix-planted",
            "crash-sqlite",
            "crash-jsonl",
            "crash-postgres",
            "crash-planted",
            "disk-faults-sqlite",
            "disk-faults-jsonl",
            "disk-faults-planted",
            "power-loss-sqlite",
            "power-loss-jsonl",
            "power-loss-planted",
            "writers-sqlite",
            "writers-jsonl",
            "writers-planted",
            "escape",
            "escape-planted",
            "sandbox",
            "sandbox-planted",
            "processes",
            "processes-planted",
            "undo",
            "undo-planted",
            "shell-diff",
            "shell-diff-planted",
            "injections",
            "injections-planted",
            "hostile-repos",
            "hostile-repos-planted",
            "sdk",
            "servers",
            "bench-machine",
            "bench-gate",
            "bench-runs",
            "bench-store",
            "bench-tools"
        ]
    );
}

#[test]
fn clippy_sees_the_workspace_plain_and_the_planted_crates_with_their_feature() {
    let all = lines(Proofs::Skip);
    let line = |wanted: &str| all.iter().find(|(name, _)| *name == wanted).unwrap().1.clone();
    assert_eq!(line("clippy"), "cargo clippy --workspace --all-targets --locked -- -D warnings");
    assert_eq!(
        line("clippy-planted"),
        "cargo clippy -p lariat-core -p lariat-runtime -p lariat-testkit --all-targets --locked \
         --features lariat-testkit/planted -- -D warnings"
    );
}

#[test]
fn the_report_says_what_passed_failed_and_never_ran() {
    let report = [
        ("fmt", Outcome::Passed(Duration::from_millis(1_250))),
        ("layers", Outcome::Failed(Duration::from_secs(2))),
        ("test", Outcome::NotRun),
    ];
    let expected = "\
fmt     ok           1.2 s
layers  FAILED       2.0 s
test    not run
total                3.2 s
";
    assert_eq!(table(&report), expected);
}
