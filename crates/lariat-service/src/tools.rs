//! The names of all tools, to select some of them and to detect typos in rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use lariat_core::nearest::nearest;
use lariat_guard::{BrokenRestriction, Effect, Layer, Level, Origin, foreign_tool_names, tools_named};

/// The names of all built-in tools.
pub(crate) const NAMES: &[&str] = &[
    "agent",
    "apply_patch",
    "ask_user",
    "bash",
    "bash_input",
    "bash_output",
    "bash_stop",
    "edit_file",
    "fetch",
    "glob",
    "learn",
    "list_files",
    "multi_edit",
    "past_sessions",
    "plan_change",
    "read_file",
    "recall",
    "repo_map",
    "search",
    "share_finding",
    "todo",
    "tool_call",
    "tool_search",
    "write_file",
];

fn known_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().chain(foreign_tool_names())
}

/// Whether a name is a tool's: built in, known from Claude Code's settings, of an MCP server or of an API.
pub fn is_tool(name: &str) -> bool {
    name.starts_with("mcp__") || name.starts_with("openapi__") || known_names().any(|known| known == name)
}

fn suggestion(name: &str) -> String {
    nearest(name, known_names()).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

/// Finds the deny and ask rules for unknown tools, which would restrict nothing.
pub(crate) fn unknown_tool_rules(layers: &[Layer]) -> impl Iterator<Item = BrokenRestriction> {
    let rules = layers.iter().flat_map(|layer| &layer.rules).filter(|rule| rule.effect != Effect::Allow);
    rules.filter_map(|rule| {
        let name = rule.builtin_tool().filter(|name| !known_names().any(|known| known == *name))?;
        let reason = format!("names an unknown tool{}", suggestion(name));
        Some(BrokenRestriction::new(&rule.text, reason, Arc::clone(&rule.origin)))
    })
}

/// The built-in tools in a list of names.
///
/// # Errors
/// If a name is not a tool's.
pub(crate) fn select(names: &[String]) -> Result<BTreeSet<String>, BrokenRestriction> {
    let mut only = BTreeSet::new();
    for name in names {
        match tools_named(name) {
            Some(tools) => only.extend(tools.into_iter().map(str::to_owned)),
            None if known_names().any(|known| known == name) => drop(only.insert(name.clone())),
            None => {
                let origin = Arc::new(Origin::by_name(Level::Flags, "--tools"));
                return Err(BrokenRestriction::new(
                    name,
                    format!("is not a known tool{}", suggestion(name)),
                    origin,
                ));
            }
        }
    }
    Ok(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(effect: Effect, text: &str) -> Vec<Layer> {
        vec![Layer::new(Origin::flags()).with_rule(effect, text)]
    }

    #[test]
    fn deny_rule_for_unknown_tool_is_a_typo() {
        for text in ["Raed", "bsah", "read_files"] {
            let broken = unknown_tool_rules(&rule(Effect::Deny, text)).next().unwrap();
            assert!(broken.reason.contains("did you mean"), "{broken}");
        }
        for text in ["Read", "bash", "mcp__x", "mcp__x__y", "openapi__x__y", "*", "ExitPlanMode", "recall"] {
            assert_eq!(unknown_tool_rules(&rule(Effect::Deny, text)).next(), None, "{text}");
        }
        assert_eq!(
            unknown_tool_rules(&rule(Effect::Allow, "Raed")).next(),
            None,
            "allowing an unknown tool restricts nothing"
        );
    }

    #[test]
    fn tool_list_selects_exactly_those_tools() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert!(select(&[]).unwrap().is_empty());
        assert_eq!(
            select(&names(&["Glob", "recall"])).unwrap(),
            names(&["glob", "recall"]).into_iter().collect()
        );
        assert!(select(&names(&["Bash"])).unwrap().contains("bash_stop"));
        assert!(select(&names(&["Bahs"])).is_err());
    }
}
