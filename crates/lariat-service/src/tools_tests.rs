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
    for text in ["Read", "bash", "mcp__x", "mcp__x__y", "*", "ExitPlanMode", "recall"] {
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
