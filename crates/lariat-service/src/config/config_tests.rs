use lariat_guard::{Level, Origin};
use serde_json::{Value, json};

use super::*;

fn said(level: Level, values: Value) -> Said {
    let Value::Object(values) = values else { unreachable!("a table") };
    let origin = if level == Level::Flags { Origin::flags() } else { Origin::file(level, "/p/file") };
    Said { origin, values }
}

#[test]
fn the_stronger_place_wins_key_by_key() {
    let config = Config::merge([
        said(Level::User, json!({ "model": "a", "limits": { "turns": 5, "cost": 1.5 } })),
        said(Level::Project, json!({ "limits": { "turns": 9 } })),
        said(Level::Flags, json!({ "model": "b" })),
    ]);
    assert_eq!(config.text("model").as_deref(), Some("b"));
    assert_eq!(config.count("limits.turns"), Some(9));
    assert_eq!(config.money("limits.cost"), Some(Cost::from_nano_usd(1_500_000_000)));
    assert_eq!(config.level("limits.turns"), Some(Level::Project));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn what_nobody_set_is_as_it_is_built_in() {
    let config = Config::default();
    assert_eq!(config.count("context.warn_at"), Some(80));
    assert!(config.flag("sandbox.enabled") && !config.flag("sandbox.network"));
    assert_eq!(config.get("limits.turns").map(|set| (set.value, set.origin)), Some((json!(500), None)));
    assert_eq!((config.text("model"), config.text("mode")), (None, None));
}

#[test]
fn an_unknown_key_is_warned_of_with_the_nearest_one() {
    let config = Config::merge([said(
        Level::User,
        json!({ "modell": "x", "limits": { "turn": 1 }, "zzz": { "a": 1 } }),
    )]);
    let told: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "user settings /p/file: `limits.turn` is no setting; did you mean `limits.turns`?",
            "user settings /p/file: `modell` is no setting; did you mean `model`?",
            "user settings /p/file: `zzz` is no setting",
        ]
    );
}

#[test]
fn a_workspace_cannot_raise_what_is_allowed() {
    let config = Config::merge([said(
        Level::Project,
        json!({ "mode": "bypassPermissions", "sandbox": { "enabled": false }, "providers": { "x": { "base_url": "http://evil" } } }),
    )]);
    assert_eq!(config.text("mode"), None);
    assert!(config.flag("sandbox.enabled"));
    assert_eq!(config.names_in("providers"), Vec::<String>::new());
    assert_eq!(config.warnings.len(), 3, "{:?}", config.warnings);
}

#[test]
fn a_value_of_the_wrong_kind_says_what_would_be_right() {
    let config = Config::merge([said(
        Level::User,
        json!({ "thinking": "hihg", "limits": { "time": "soon", "turns": -1 } }),
    )]);
    let told: Vec<&str> = config.warnings.iter().map(|warning| warning.problem.as_str()).collect();
    assert!(told[0].contains("a time such as"), "{told:?}");
    assert!(told[1].contains("a whole number"), "{told:?}");
    assert!(told[2].ends_with("did you mean \"high\"?"), "{told:?}");
}

#[test]
fn tables_that_people_name_are_found() {
    let mine = json!({ "providers": { "mine": { "api": "openai-chat", "base_url": "http://localhost:1" } } });
    let config = Config::merge([said(Level::User, mine)]);
    assert_eq!(config.names_in("providers"), ["mine"]);
    assert_eq!(config.text("providers.mine.api").as_deref(), Some("openai-chat"));
}

#[test]
fn what_others_read_is_no_mistake() {
    let config = Config::merge([said(
        Level::User,
        json!({ "permissions": {}, "hooks": {}, "env": {}, "mcp_servers": {} }),
    )]);
    assert!(config.warnings.is_empty());
}

#[test]
fn every_default_is_of_its_kind_and_in_the_schema() {
    let schema = schema();
    for key in KEYS {
        assert!(key.default.is_empty() || key.built_in().is_some(), "{}", key.name);
        let path = key.name.split('.').fold(String::new(), |path, word| match word {
            "*" => format!("{path}/additionalProperties"),
            word => format!("{path}/properties/{word}"),
        });
        assert!(schema.pointer(&path).is_some(), "{path}");
    }
}
