use super::{PROOFS, Runner, steps};
use crate::ci::Proofs;
use crate::workspace::Workspace;

fn lines(proofs: Proofs) -> Vec<(&'static str, String)> {
    let steps = steps(&Workspace::fake("target"), Runner::Nextest, proofs);
    steps.iter().map(|step| (step.name, step.action.to_string())).collect()
}

fn place(lines: &[(&str, String)], wanted: &str) -> usize {
    lines.iter().position(|(name, _)| *name == wanted).unwrap()
}

#[test]
fn proofs_run_last_and_only_on_request() {
    let all = lines(Proofs::Run);
    let quick = lines(Proofs::Skip);
    assert_eq!(all[..quick.len()], quick[..]);
    // Besides the proofs: the attacks, and the standard suites.
    assert_eq!(all.len() - quick.len(), PROOFS.len() + 2);
}

#[test]
fn proofs_run_built_programs_without_cargo() {
    let all = lines(Proofs::Run);
    assert_eq!(
        all[place(&all, "crash-jsonl")].1,
        "./target/debug/store crash --store jsonl --points 12 --random 20"
    );
    assert!(
        all[place(&all, "simulate")..place(&all, "schemas")].iter().all(|(_, line)| !line.contains("cargo"))
    );
}

#[test]
fn both_runners_test_the_same_build() {
    for (runner, start) in [
        (Runner::Nextest, "cargo nextest run --profile ci"),
        (Runner::CargoTest, "cargo test --lib --bins --tests"),
    ] {
        let line = runner.command_line().to_string();
        assert_eq!(line, format!("{start} --workspace --locked --features lariat-proofs/proofs,lariat/otlp"));
    }
}
