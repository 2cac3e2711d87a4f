use super::{Layer, Settings, SettingsError, Trust};
use crate::effect::Effect;
use crate::mode::Mode;
use crate::origin::{Level, Origin};

fn origin() -> Origin {
    Origin::file(Level::User, "/people/u/.claude/settings.json")
}

fn texts(layer: &Layer, effect: Effect) -> Vec<&str> {
    layer.rules.iter().filter(|rule| rule.effect == effect).map(|rule| rule.text.as_str()).collect()
}

#[test]
fn parses_claude_settings_and_warns_about_unknown_keys() {
    let text = r#"{
        "model": "x", "hooks": { "PreToolUse": [] },
        "permissions": {
            "allow": ["Bash(npm run *)", "Edit(src/**)"], "ask": ["Bash(git push *)"], "deny": ["Read(.env)"],
            "additionalDirectories": ["../docs"], "defaultMode": "acceptEdits",
            "disableBypassPermissionsMode": "disable", "somethingNew": { "a": 1 }
        }
    }"#;
    let layer = Layer::claude(text, origin()).unwrap();
    assert_eq!(texts(&layer, Effect::Allow), ["Bash(npm run *)", "Edit(src/**)"]);
    assert_eq!(texts(&layer, Effect::Ask), ["Bash(git push *)"]);
    assert_eq!(texts(&layer, Effect::Deny), ["Read(.env)"]);
    assert_eq!(layer.additional_directories, ["../docs"]);
    assert_eq!(layer.default_mode, Some(Mode::AcceptEdits));
    assert!(layer.disables_bypass && !layer.disables_auto);
    let [warning] = layer.warnings.as_slice() else { panic!("{:?}", layer.warnings) };
    assert_eq!(warning.subject, "somethingNew");
}

#[test]
fn lariat_toml_accepts_both_spellings_of_keys() {
    let text = "title = 'x'\n[permissions]\nallow = ['Bash(make *)']\ndeny = ['Read(.env)']\ndefault_mode = 'plan'\n\
        additional_directories = ['/srv']\ndisableAutoMode = true\n[other]\nwhen = 2026-01-01\n";
    let layer = Layer::lariat(text, origin()).unwrap();
    assert_eq!(texts(&layer, Effect::Allow), ["Bash(make *)"]);
    assert_eq!(texts(&layer, Effect::Deny), ["Read(.env)"]);
    assert_eq!(layer.default_mode, Some(Mode::Plan));
    assert_eq!(layer.additional_directories, ["/srv"]);
    assert!(layer.disables_auto && !layer.disables_bypass);
}

#[test]
fn empty_file_or_missing_permissions_gives_an_empty_layer() {
    for text in ["", "  \n", "{}", "null", r#"{"permissions": null}"#, "\u{feff}{}"] {
        let layer = Layer::claude(text, origin()).unwrap();
        assert!(layer.rules.is_empty() && layer.warnings.is_empty(), "{text}");
    }
    assert!(Layer::lariat("", origin()).unwrap().rules.is_empty());
}

#[test]
fn malformed_file_is_an_error_that_names_it() {
    for result in [
        Layer::claude("{", origin()),
        Layer::claude(r#"{"permissions": []}"#, origin()),
        Layer::lariat("[permissions", origin()),
        Layer::lariat("permissions = 3", origin()),
    ] {
        let Err(error @ SettingsError::Malformed { .. }) = result else { panic!("{result:?}") };
        assert!(error.to_string().contains("/people/u/.claude/settings.json"), "{error}");
    }
}

#[test]
fn invalid_restriction_is_broken_and_has_its_line() {
    let text = "{ \"permissions\": {\n\"deny\": [\"Read(.env)\",\n3, \"Read(.x\"],\n\"allow\": \"Bash(make *)\",\n\
        \"defaultMode\": \"yolo\",\n\"dney\": [], \"disableBypassPermissionsMode\": \"perhaps\" } }";
    let layer = Layer::claude(text, origin()).unwrap();
    assert_eq!(texts(&layer, Effect::Deny), ["Read(.env)"]);
    assert_eq!(texts(&layer, Effect::Allow), ["Bash(make *)"]);
    assert_eq!(layer.default_mode, None);
    assert!(layer.disables_bypass, "an unclear value of a switch that only restricts turns it on");
    let subjects: Vec<&str> = layer.warnings.iter().map(|warning| warning.subject.as_str()).collect();
    assert_eq!(subjects, ["disableBypassPermissionsMode"]);
    let broken: Vec<_> = layer.broken.iter().map(|one| (one.subject.as_str(), one.line)).collect();
    assert_eq!(
        broken,
        [("dney", Some(6)), ("deny", Some(2)), ("Read(.x", Some(3)), ("defaultMode", Some(5))]
    );
    assert_eq!(layer.broken[2].location(), "user settings /people/u/.claude/settings.json:3");
}

#[test]
fn broken_restriction_makes_everything_ask() {
    let layer = Layer::new(origin()).with_rule(Effect::Deny, "Read(.env").with_rule(Effect::Allow, "Bash");
    let settings = Settings::merge([layer], Trust::Trusted);
    assert!(settings.rules.iter().any(|rule| rule.effect == Effect::Ask && rule.text == "*"));
    assert_eq!(settings.warnings.len(), 1);
}

#[test]
fn untrusted_workspace_settings_allow_nothing() {
    let text =
        r#"{"permissions": {"allow": ["Bash"], "additionalDirectories": ["/"], "defaultMode": "MODE"}}"#;
    for level in [Level::Project, Level::Local] {
        for mode in Mode::ALL {
            let text = text.replace("MODE", mode.name());
            let layer = Layer::claude(&text, Origin::file(level, "x")).unwrap();
            let settings = Settings::merge([layer], Trust::Untrusted);
            assert!(
                settings.rules.is_empty() && settings.additional_directories.is_empty(),
                "{level} {mode}"
            );
            assert!(matches!(settings.mode, Mode::Default | Mode::Plan), "{level} {mode}");
        }
    }
}
