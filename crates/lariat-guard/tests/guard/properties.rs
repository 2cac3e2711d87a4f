//! Checks properties of every set of rules and every command.

use std::sync::Arc;

use lariat_core::tool::ToolEffects;
use lariat_guard::{
    Confinement, Effect, Guard, GuardDecision, Layer, Level, Mode, NoLinks, Origin, Query,
    SessionDirectories, Settings, Trust,
};
use proptest::prelude::*;
use serde_json::json;

fn guard(rules: &[(Effect, String)], trust: Trust) -> Guard {
    let origin = Origin::file(Level::Project, "/people/u/p/.claude/settings.json");
    let layer = rules.iter().fold(Layer::new(origin), |layer, (effect, text)| layer.with_rule(*effect, text));
    Guard::new(
        Settings::merge([layer], trust),
        SessionDirectories::new("/people/u/p", "/people/u"),
        Arc::new(NoLinks),
    )
}

fn verdict(guard: &Guard, command: &str, mode: Mode) -> GuardDecision {
    let arguments = json!({ "command": command });
    let query = Query::new("bash", &arguments, ToolEffects::ALL);
    guard.judge(&query.with_mode(mode).with_confinement(Confinement::Sandboxed)).verdict
}

const fn rank(decision: GuardDecision) -> u8 {
    match decision {
        GuardDecision::Allow => 0,
        GuardDecision::Ask => 1,
        GuardDecision::Deny => 2,
    }
}

fn effect() -> impl Strategy<Value = Effect> {
    prop_oneof![Just(Effect::Deny), Just(Effect::Ask), Just(Effect::Allow)]
}

fn rule() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("rm"),
        Just("git"),
        Just("git push"),
        Just("ls"),
        Just("make"),
        Just("x"),
        Just("cat")
    ];
    let end = prop_oneof![Just(""), Just(" *"), Just("*"), Just(":*"), Just(" a")];
    let path =
        prop_oneof![Just("src/**"), Just("*.rs"), Just("//etc/**"), Just("~/x"), Just("/a"), Just(".env")];
    prop_oneof![
        3 => (word, end).prop_map(|(word, end)| format!("Bash({word}{end})")),
        1 => path.clone().prop_map(|path| format!("Read({path})")),
        1 => path.prop_map(|path| format!("Edit({path})")),
        1 => Just("Bash".to_owned()),
        1 => Just("Edit".to_owned()),
    ]
}

fn simple() -> impl Strategy<Value = String> {
    let program = prop_oneof![
        Just("rm"),
        Just("ls"),
        Just("git push"),
        Just("git status"),
        Just("make"),
        Just("x"),
        Just("cat"),
        Just("timeout 5 rm"),
        Just("LANG=C make"),
        Just("FOO=1 x"),
        Just("/bin/rm"),
        Just("$X"),
        Just("cd src"),
    ];
    let operand = prop_oneof![
        Just(""),
        Just(" a"),
        Just(" src/a.rs"),
        Just(" .env"),
        Just(" /etc/passwd"),
        Just(" > out"),
        Just(" $(x a)"),
        Just(" -rf /"),
        Just(" *.rs"),
        Just(" < .env"),
        Just(" --force"),
    ];
    (program, operand).prop_map(|(program, operand)| format!("{program}{operand}"))
}

fn command() -> impl Strategy<Value = String> {
    let joint = prop_oneof![Just(" && "), Just("; "), Just(" | "), Just("\n"), Just(" || ")];
    (proptest::collection::vec(simple(), 1..4), joint).prop_map(|(parts, joint)| parts.join(joint))
}

fn mode() -> impl Strategy<Value = Mode> {
    proptest::sample::select(Mode::ALL.to_vec())
}

fn rules() -> impl Strategy<Value = Vec<(Effect, String)>> {
    proptest::collection::vec((effect(), rule()), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn deny_or_ask_rule_never_loosens(rules in rules(), more in rule(), deny: bool, command in command(), mode in mode()) {
        let before = verdict(&guard(&rules, Trust::Trusted), &command, mode);
        let mut rules = rules;
        rules.push((if deny { Effect::Deny } else { Effect::Ask }, more));
        let after = verdict(&guard(&rules, Trust::Trusted), &command, mode);
        prop_assert!(rank(after) >= rank(before), "{before:?} became {after:?}");
    }

    #[test]
    fn allow_rule_never_tightens(rules in rules(), more in rule(), command in command(), mode in mode()) {
        let before = verdict(&guard(&rules, Trust::Trusted), &command, mode);
        let mut rules = rules;
        rules.push((Effect::Allow, more));
        let after = verdict(&guard(&rules, Trust::Trusted), &command, mode);
        prop_assert!(rank(after) <= rank(before), "{before:?} became {after:?}");
    }

    #[test]
    fn additional_part_never_loosens(rules in rules(), command in command(), part in simple(), mode in mode()) {
        let guard = guard(&rules, Trust::Trusted);
        let before = verdict(&guard, &command, mode);
        for whole in [format!("{command}; {part}"), format!("{part} && {command}"), format!("{command} | {part}")] {
            let after = verdict(&guard, &whole, mode);
            prop_assert!(rank(after) >= rank(before), "{whole}: {before:?} became {after:?}");
        }
    }

    #[test]
    fn order_of_rules_is_irrelevant(rules in rules(), command in command(), mode in mode()) {
        let forward = verdict(&guard(&rules, Trust::Trusted), &command, mode);
        let mut rules = rules;
        rules.reverse();
        prop_assert_eq!(forward, verdict(&guard(&rules, Trust::Trusted), &command, mode));
    }

    #[test]
    fn trust_never_tightens(rules in rules(), command in command(), mode in mode()) {
        let untrusted = verdict(&guard(&rules, Trust::Untrusted), &command, mode);
        let trusted = verdict(&guard(&rules, Trust::Trusted), &command, mode);
        prop_assert!(rank(trusted) <= rank(untrusted), "{untrusted:?} became {trusted:?}");
    }

    #[test]
    fn dont_ask_mode_never_asks(rules in rules(), command in command()) {
        prop_assert_ne!(verdict(&guard(&rules, Trust::Trusted), &command, Mode::DontAsk), GuardDecision::Ask);
    }

    #[test]
    fn suggested_rules_suffice(rules in rules(), command in command()) {
        let suggested = {
            let guard = guard(&rules, Trust::Trusted);
            let arguments = json!({ "command": command });
            guard.suggest(&Query::new("bash", &arguments, ToolEffects::ALL))
        };
        prop_assert!(suggested.len() <= 5);
        if !suggested.is_empty() {
            let mut rules = rules;
            rules.extend(suggested.iter().map(|text| (Effect::Allow, text.clone())));
            prop_assert_eq!(verdict(&guard(&rules, Trust::Trusted), &command, Mode::Default), GuardDecision::Allow);
        }
    }
}
