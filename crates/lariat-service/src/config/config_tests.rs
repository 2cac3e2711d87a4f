use lariat_guard::{Level, Origin};
use serde_json::{Value, json};

use super::*;

fn layer(level: Level, values: Value) -> SettingsLayer {
    let Value::Object(values) = values else { unreachable!("a table") };
    let origin = if level == Level::Flags { Origin::flags() } else { Origin::file(level, "/p/file") };
    SettingsLayer { origin, values }
}

#[test]
fn stronger_layer_wins_per_key() {
    let config = Config::merge([
        layer(Level::User, json!({ "model": "a", "limits": { "turns": 5, "cost": 1.5 } })),
        layer(Level::Project, json!({ "limits": { "turns": 9 } })),
        layer(Level::Flags, json!({ "model": "b" })),
    ]);
    assert_eq!(config.text("model").as_deref(), Some("b"));
    assert_eq!(config.count("limits.turns"), Some(5));
    assert_eq!(config.money("limits.cost"), Some(Cost::from_nano_usd(1_500_000_000)));
    assert_eq!(config.level("limits.turns"), Some(Level::User));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn unset_keys_have_defaults() {
    let config = Config::default();
    assert_eq!(config.count("context.warn_at"), Some(80));
    assert!(config.flag("sandbox.enabled") && !config.flag("sandbox.network"));
    assert_eq!(config.get("limits.turns").map(|set| (set.value, set.origin)), Some((json!(500), None)));
    assert_eq!((config.text("model"), config.text("mode")), (None, None));
}

#[test]
fn unknown_key_is_a_warning_unless_it_seems_to_restrict() {
    let config = Config::merge([layer(
        Level::User,
        json!({ "modell": "x", "limits": { "turn": 1 }, "zzz": { "a": 1 }, "budgte": { "day": 1 } }),
    )]);
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "user settings /p/file: unknown setting `modell`; did you mean `model`?",
            "user settings /p/file: unknown setting `zzz`",
        ]
    );
    let broken: Vec<String> = config.broken.iter().map(ToString::to_string).collect();
    assert_eq!(
        broken,
        [
            "user settings /p/file: `budgte` is not a setting; did you mean `budget`?",
            "user settings /p/file: `limits.turn` is not a setting; did you mean `limits.turns`?",
        ]
    );
}

/// A project must not raise the user's limits.
#[test]
fn smaller_limit_of_user_and_project_applies_and_flag_overrides_both() {
    let caps = |level, turns: u64, time: &str, day: f64| {
        layer(level, json!({ "limits": { "turns": turns, "time": time }, "budget": { "day": day } }))
    };
    let person = || caps(Level::User, 20, "10m", 2.0);
    for (turns, time, day) in [(50, "1h", 9.0), (20, "10m", 2.0)] {
        let config = Config::merge([person(), caps(Level::Project, turns, time, day)]);
        let count = (config.count("limits.turns"), config.text("limits.time"), config.money("budget.day"));
        assert_eq!(count, (Some(20), Some("10m".to_owned()), Some(Cost::from_nano_usd(2_000_000_000))));
    }
    let config =
        Config::merge([person(), caps(Level::Project, 5, "90s", 1.0), caps(Level::Local, 7, "2h", 3.0)]);
    assert_eq!((config.count("limits.turns"), config.text("limits.time").as_deref()), (Some(5), Some("90s")));
    let raised = Config::merge([caps(Level::Project, 5_000, "1h", 1.0)]);
    assert_eq!(raised.count("limits.turns"), Some(500), "a default is the user's, too");
    let flags =
        Config::merge([person(), caps(Level::Flags, 900, "9h", 9.0), caps(Level::Project, 1, "1s", 0.1)]);
    assert_eq!(flags.count("limits.turns"), Some(900));
    let managed = Config::merge([caps(Level::Managed, 100, "1h", 5.0), caps(Level::Flags, 900, "5m", 9.0)]);
    assert_eq!(
        (managed.count("limits.turns"), managed.text("limits.time").as_deref()),
        (Some(100), Some("5m"))
    );
}

/// An invalid limit must not be ignored.
#[test]
fn invalid_restriction_is_broken_and_names_its_place() {
    let environment = SettingsLayer {
        origin: Origin::environment(),
        values: json!({ "limits": { "turns": "abc" } }).as_object().cloned().unwrap_or_default(),
    };
    let config = Config::merge([environment, layer(Level::Flags, json!({ "limits": { "time": "10" } }))]);
    let places: Vec<String> = config.broken.iter().map(BrokenRestriction::place).collect();
    assert_eq!(places, ["--max-time", "LARIAT_LIMITS__TURNS"]);
    assert_eq!(config.count("limits.turns"), Some(500));
}

/// A switch that is missing from the table would always be off.
#[test]
fn every_switch_has_a_default_and_every_queried_key_exists() {
    assert!(KEYS.iter().filter(|key| key.kind == Kind::Flag).all(|key| key.built_in().is_some()));
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut asked = 0;
    let mut ahead = vec![crates.join("lariat-service/src"), crates.join("lariat-cli/src")];
    while let Some(folder) = ahead.pop() {
        for entry in folder.read_dir().unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                ahead.push(path);
            } else if !path.to_string_lossy().ends_with("_tests.rs") {
                asked += check_source(&source(&path));
            }
        }
    }
    assert!(asked > 20, "{asked}");
}

#[expect(clippy::disallowed_methods, reason = "reads the source code that it checks")]
fn source(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Checks every `config.kind("name")` in a source file against the table.
fn check_source(text: &str) -> usize {
    let mut asked = 0;
    for (method, fits) in [
        ("flag", (|kind| kind == Kind::Flag) as fn(Kind) -> bool),
        ("count", |kind| matches!(kind, Kind::Count | Kind::Percent)),
        ("money", |kind| kind == Kind::Money),
        ("time", |kind| kind == Kind::Time),
        ("texts", |kind| kind == Kind::Texts),
        ("text", |kind| matches!(kind, Kind::Text | Kind::Word(_))),
    ] {
        for piece in text.split(&format!("config.{method}(\"")).skip(1) {
            let name = piece.split('"').next().unwrap_or_default();
            let key = keys::find(name).unwrap_or_else(|| panic!("`{name}` is not a setting"));
            assert!(fits(key.kind), "`{name}` is read with `{method}`");
            asked += 1;
        }
    }
    asked
}

#[test]
fn project_cannot_raise_permissions() {
    let config = Config::merge([layer(
        Level::Project,
        json!({ "mode": "bypassPermissions", "sandbox": { "enabled": false }, "providers": { "x": { "base_url": "http://evil" } } }),
    )]);
    assert_eq!(config.text("mode"), None);
    assert!(config.flag("sandbox.enabled"));
    assert_eq!(config.names_in("providers"), Vec::<String>::new());
    assert_eq!(config.warnings.len(), 3, "{:?}", config.warnings);
}

#[test]
fn invalid_value_error_names_valid_values() {
    let config = Config::merge([layer(
        Level::User,
        json!({ "thinking": "hihg", "limits": { "time": "soon", "turns": -1 } }),
    )]);
    let reasons: Vec<&str> = config.broken.iter().map(|broken| broken.reason.as_str()).collect();
    assert!(reasons[0].contains("a duration such as"), "{reasons:?}");
    assert!(reasons[1].contains("a whole number"), "{reasons:?}");
    assert!(config.warnings[0].problem.ends_with("did you mean \"high\"?"), "{:?}", config.warnings);
}

#[test]
fn finds_user_named_tables() {
    let mine = json!({ "providers": { "mine": { "api": "openai-chat", "base_url": "http://localhost:1" } } });
    let config = Config::merge([layer(Level::User, mine)]);
    assert_eq!(config.names_in("providers"), ["mine"]);
    assert_eq!(config.text("providers.mine.api").as_deref(), Some("openai-chat"));
}

#[test]
fn accepts_keys_that_other_modules_read() {
    let config = Config::merge([layer(
        Level::User,
        json!({ "permissions": {}, "hooks": {}, "env": {}, "mcp_servers": {} }),
    )]);
    assert!(config.warnings.is_empty());
}

#[test]
fn every_default_is_valid_and_in_the_schema() {
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
