use std::path::Path;
use std::sync::Arc;

use lariat_core::file_access::FileUse;
use lariat_core::permission::DangerLevel;
use lariat_core::tool::ToolEffects;
use serde_json::json;

use super::{Guard, Query};
use crate::effect::Effect;
use crate::judgement::{Cause, GuardDecision};
use crate::mode::Mode;
use crate::origin::{Level, Origin};
use crate::resolve::{NoLinks, SessionDirectories};
use crate::settings::{Layer, Settings, Trust};

fn guard(rules: &[(Effect, &str)]) -> Guard {
    let origin = Origin::file(Level::Project, "/people/u/p/.claude/settings.json");
    let layer = rules.iter().fold(Layer::new(origin), |layer, (effect, text)| layer.with_rule(*effect, text));
    let settings = Settings::merge([layer], Trust::Trusted);
    Guard::new(settings, SessionDirectories::new("/people/u/p", "/people/u"), Arc::new(NoLinks))
}

#[test]
fn explanation_names_the_part_the_rule_and_its_file() {
    let guard = guard(&[(Effect::Deny, "Bash(rm *)"), (Effect::Allow, "Bash(make *)")]);
    let denied = guard.dry_run("Bash(make && rm x)", Mode::Default).unwrap();
    assert_eq!(
        denied.explain(),
        "Denied:\n- `rm x`: matches the deny rule `Bash(rm *)` from project settings /people/u/p/.claude/settings.json."
    );
    let asked = guard.dry_run("Bash(make && cargo build)", Mode::Default).unwrap();
    assert_eq!(asked.explain(), "Asked:\n- `cargo build`: no rule allows it.");
    let allowed = guard.dry_run("Bash(make && ls)", Mode::Default).unwrap();
    assert_eq!(
        allowed.explain(),
        "Allowed:\n- `make`: matches the allow rule `Bash(make *)` from project settings /people/u/p/.claude/settings.json.\n\
         - `ls`: decided by permission mode default."
    );
}

#[test]
fn call_without_arguments_is_shown_as_its_tool() {
    let asked = guard(&[]).dry_run("Bash", Mode::Default).unwrap();
    assert_eq!(asked.explain(), "Asked:\n- `bash`: no rule allows it.");
}

#[test]
fn each_cause_has_its_own_explanation() {
    let guard = guard(&[(Effect::Allow, "Bash"), (Effect::Allow, "Edit")]);
    for (text, words) in [
        ("Edit(.git/config)", "`.git` is protected"),
        ("Edit(sub/.Config/fish/config.fish)", "`.config/fish` is protected"),
        ("Edit(.local/bin/tool)", "`.local/bin` is protected"),
        ("Edit(.mcp.json)", "controls permissions"),
        ("Bash(rm -rf /)", "critical: `/` is the root directory"),
        ("Bash($X y)", "its effect is uncertain"),
    ] {
        let judgement = guard.dry_run(text, Mode::Default).unwrap();
        assert_eq!(judgement.verdict, GuardDecision::Ask, "{text}");
        assert!(judgement.explain().contains(words), "{}", judgement.explain());
    }
}

#[test]
fn dry_run_decides_what_a_rule_would_name() {
    let guard = guard(&[
        (Effect::Deny, "Read(.env)"),
        (Effect::Deny, "WebFetch(domain:evil.org)"),
        (Effect::Deny, "Skill(deploy *)"),
        (Effect::Deny, "Agent(x)"),
        (Effect::Deny, "mcp__a"),
    ]);
    for text in [
        "Read(.env)",
        "WebFetch(domain:evil.org)",
        "WebFetch(https://evil.org/x)",
        "Skill(deploy now)",
        "Agent(x)",
        "mcp__a__b",
    ] {
        let judgement = guard.dry_run(text, Mode::Bypass).unwrap();
        assert_eq!(judgement.verdict, GuardDecision::Deny, "{text}");
    }
    assert!(guard.dry_run("Bash(git push", Mode::Default).is_none());
}

#[test]
fn operations_of_apis_read_without_asking_and_change_only_by_rule() {
    let (arguments, reads) = (json!({}), ToolEffects::READS.and(ToolEffects::NETWORK));
    let changes = reads.and(ToolEffects::WRITES);
    let verdict = |guard: &Guard, tool: &str, effects, mode| {
        guard.judge(&Query::new(tool, &arguments, effects).with_mode(mode)).verdict
    };
    let none = guard(&[]);
    assert_eq!(verdict(&none, "openapi__pets__list", reads, Mode::Default), GuardDecision::Allow);
    assert_eq!(verdict(&none, "openapi__pets__list", reads, Mode::Plan), GuardDecision::Allow);
    assert_eq!(verdict(&none, "openapi__pets__add", changes, Mode::Default), GuardDecision::Ask);
    assert_ne!(verdict(&none, "openapi__pets__add", changes, Mode::Plan), GuardDecision::Allow);
    // Other tools with the same effects, and servers with the same claims, ask.
    for tool in ["lookup", "mcp__openapi__list"] {
        assert_eq!(verdict(&none, tool, reads, Mode::Default), GuardDecision::Ask, "{tool}");
    }
    for rule in ["openapi__pets", "openapi__pets__*", "openapi__pets__add"] {
        let allowed = guard(&[(Effect::Allow, rule)]);
        assert_eq!(
            verdict(&allowed, "openapi__pets__add", changes, Mode::Default),
            GuardDecision::Allow,
            "{rule}"
        );
        assert_eq!(
            verdict(&allowed, "openapi__petshop__add", changes, Mode::Default),
            GuardDecision::Ask,
            "{rule}"
        );
        let denied = guard(&[(Effect::Deny, rule)]);
        assert_eq!(
            verdict(&denied, "openapi__pets__add", reads, Mode::Bypass),
            GuardDecision::Deny,
            "{rule}"
        );
    }
    let broad = guard(&[(Effect::Allow, "openapi__*"), (Effect::Allow, "openapi__p*")]);
    assert_eq!(verdict(&broad, "openapi__pets__add", changes, Mode::Default), GuardDecision::Ask);
}

#[test]
fn command_over_10_000_characters_always_asks_and_can_be_denied() {
    let guard = guard(&[(Effect::Allow, "Bash"), (Effect::Deny, "Bash(rm *)")]);
    let long = format!("echo {}", "x".repeat(10_000));
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::Auto, Mode::Bypass] {
        let arguments = json!({ "command": long });
        let judgement = guard.judge(&Query::new("bash", &arguments, ToolEffects::ALL).with_mode(mode));
        assert_eq!(judgement.verdict, GuardDecision::Ask, "{mode}");
        assert!(judgement.because.iter().any(|reason| matches!(reason.cause, Cause::Doubt(_))));
        let arguments = json!({ "command": format!("{long}; rm x") });
        let judgement = guard.judge(&Query::new("bash", &arguments, ToolEffects::ALL).with_mode(mode));
        assert_eq!(judgement.verdict, GuardDecision::Deny, "{mode}");
    }
}

#[test]
fn reasons_are_limited_in_number_and_length() {
    let guard = guard(&[]);
    let arguments = json!({ "command": format!("make {}\n", "ä".repeat(300)).repeat(30) });
    let judgement = guard.judge(&Query::new("bash", &arguments, ToolEffects::ALL));
    assert_eq!(judgement.because.len(), 16);
    assert!(judgement.because.iter().all(|reason| reason.part.chars().count() == 301), "{judgement:?}");
}

#[test]
fn invalid_arguments_are_never_allowed_to_write_or_run() {
    let guard = guard(&[]);
    for arguments in [json!({}), json!(null), json!({ "command": 3 }), json!({ "path": [] })] {
        for tool in ["bash", "write_file", "edit_file", "apply_patch", "fetch"] {
            let judgement = guard.judge(&Query::new(tool, &arguments, ToolEffects::ALL));
            assert_eq!(judgement.verdict, GuardDecision::Ask, "{tool} {arguments}");
            assert_eq!(judgement.danger, DangerLevel::Dangerous, "{tool} {arguments}");
        }
    }
}

#[test]
fn bare_deny_hides_a_tool_and_scoped_deny_does_not() {
    let guard = guard(&[(Effect::Deny, "WebFetch"), (Effect::Deny, "Bash(rm *)"), (Effect::Deny, "mcp__a")]);
    assert!(guard.hiding_rule("fetch").is_some());
    assert!(guard.hiding_rule("mcp__a__b").is_some());
    assert!(guard.hiding_rule("bash").is_none());
}

#[test]
fn opened_file_is_decided_by_its_real_path() {
    let guard = guard(&[(Effect::Deny, "Read(secrets/**)"), (Effect::Ask, "Edit(kept/**)")]);
    let arguments = json!({});
    let judged = |tool: &str, mode: Mode, path: &str, used: FileUse| {
        let query = Query::new(tool, &arguments, ToolEffects::ALL).with_mode(mode);
        guard.judge_opened(&query, Path::new(path), used).verdict
    };
    let edit = |mode, path| judged("edit_file", mode, path, FileUse::Write);
    assert_eq!(edit(Mode::Auto, "/people/u/p/a"), GuardDecision::Allow);
    assert_eq!(edit(Mode::Default, "/people/u/p/a"), GuardDecision::Ask);
    assert_eq!(edit(Mode::Auto, "/people/u/p/.git/config"), GuardDecision::Ask);
    assert_eq!(edit(Mode::Auto, "/people/u/p/kept/a"), GuardDecision::Ask);
    assert_eq!(edit(Mode::Auto, "/elsewhere/a"), GuardDecision::Ask);
    assert_eq!(edit(Mode::Bypass, "/people/u/p/secrets/a"), GuardDecision::Deny);
    assert_eq!(edit(Mode::Bypass, "/people/u/p/.lariat/x"), GuardDecision::Ask);
    for tool in ["read_file", "search", "glob", "list_files", "repo_map", "edit_file", "apply_patch"] {
        assert_eq!(
            judged(tool, Mode::Default, "/people/u/p/a", FileUse::Read),
            GuardDecision::Allow,
            "{tool}"
        );
        assert_eq!(
            judged(tool, Mode::Bypass, "/people/u/p/secrets/a", FileUse::Read),
            GuardDecision::Deny,
            "{tool}"
        );
        assert_eq!(
            judged(tool, Mode::Bypass, "/people/u/p/x/secrets/a", FileUse::Read),
            GuardDecision::Deny,
            "{tool}"
        );
    }
}
