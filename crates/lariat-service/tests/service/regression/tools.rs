//! Checks every built-in tool against the names that hooks and rules use.

use std::path::Path;
use std::sync::Arc;

use lariat_core::tool::ToolEffects;
use lariat_guard::hooks::{Matcher, Subject};
use lariat_guard::{
    Effect, Guard, GuardDecision, Layer, Mode, NoLinks, Origin, Query, SessionDirectories, Settings, Trust,
};
use lariat_host::files::Workspace;
use lariat_tools::{Workbench, default_tools};
use serde_json::{Value, json};

const WRITERS: &[&str] = &["Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Tools that only manage tool calls which were allowed before.
const AFTERWARDS: &[&str] = &["bash_output", "bash_stop", "recall"];

fn guard(layer: Layer) -> Guard {
    let settings = Settings::merge([layer], Trust::Trusted);
    Guard::new(settings, SessionDirectories::new("/w", "/people/me"), Arc::new(NoLinks))
}

fn arguments(tool: &str) -> Value {
    match tool {
        "bash" => json!({ "command": "make" }),
        "bash_input" => json!({ "id": "1", "text": "make\n" }),
        "apply_patch" => json!({ "patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n" }),
        "fetch" => json!({ "url": "https://example.com/" }),
        _ => {
            json!({ "path": "a.txt", "pattern": "x", "old_string": "one", "new_string": "two", "content": "two" })
        }
    }
}

/// The hook and rule names that must match a tool, by its effects alone.
fn required(tool: &str, effects: ToolEffects) -> &'static [&'static str] {
    if AFTERWARDS.contains(&tool) {
        &[]
    } else if effects.contains(ToolEffects::EXECUTES) {
        &["Bash"]
    } else if effects.contains(ToolEffects::WRITES) {
        WRITERS
    } else if effects.contains(ToolEffects::NETWORK) {
        &["WebFetch"]
    } else if effects.contains(ToolEffects::READS) {
        &["Read"]
    } else {
        &[]
    }
}

/// Hooks and rules matched by name only: `apply_patch` and `bash_input` escaped those for `Edit`, `Write` and `Bash`.
#[test]
fn every_tool_matches_the_names_of_its_effects() {
    let bench = Workbench::new(Workspace::open(std::env::temp_dir()).unwrap());
    let tools = default_tools(&bench);
    let mut all: Vec<(&str, ToolEffects)> = tools.iter().map(|tool| (tool.name(), tool.effects())).collect();
    assert!(all.len() >= 17, "{all:?}");
    all.extend([
        ("a_new_writer", ToolEffects::READS.and(ToolEffects::WRITES)),
        ("a_new_runner", ToolEffects::ALL),
        ("a_new_reader", ToolEffects::READS),
        ("a_new_sender", ToolEffects::NETWORK),
    ]);
    let nothing = guard(Layer::new(Origin::flags()));
    for (tool, effects) in all {
        let arguments = arguments(tool);
        let subject = Subject::new(&nothing, tool, &arguments, effects);
        for name in required(tool, effects) {
            assert!(Matcher::parse(name).unwrap().matches(subject.names()), "a hook on {name} misses {tool}");
            for input in subject.inputs(name).unwrap() {
                match *name {
                    "Bash" => assert!(input["command"].is_string(), "{tool}: {input}"),
                    "WebFetch" | "Read" => {}
                    _ if tool.starts_with("a_new") => {}
                    _ => assert!(
                        Path::new(input["file_path"].as_str().unwrap()).is_absolute(),
                        "{tool}: {input}"
                    ),
                }
            }
            for rule in [Effect::Deny, Effect::Ask] {
                let guard = guard(Layer::new(Origin::flags()).with_rule(rule, name));
                let verdict =
                    guard.judge(&Query::new(tool, &arguments, effects).with_mode(Mode::Bypass)).verdict;
                let expected = if rule == Effect::Deny { GuardDecision::Deny } else { GuardDecision::Ask };
                assert_eq!(verdict, expected, "{rule} {name} and {tool}");
            }
        }
        assert!(subject.names().contains(&tool), "{tool} has its own name");
        assert_eq!(subject.inputs(tool).unwrap(), std::slice::from_ref(&arguments), "{tool} by its own name");
    }
    let unknown = Subject::new(&nothing, "anything", &Value::Null, ToolEffects::ALL);
    for name in
        ["Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "WebFetch", "Read", "Grep", "Glob", "LS"]
    {
        assert!(unknown.names().contains(&name), "{name}");
    }
}

/// An allow rule matches only the tools that it names, not by effects.
#[test]
fn allow_rule_never_reaches_an_unknown_tool() {
    for name in ["Bash", "Edit", "Read", "WebFetch"] {
        let guard = guard(Layer::new(Origin::flags()).with_rule(Effect::Allow, name));
        let verdict = guard.judge(&Query::new("anything", &json!({}), ToolEffects::ALL)).verdict;
        assert_eq!(verdict, GuardDecision::Ask, "{name}");
    }
}
