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
    assert_eq!(config.count("limits.turns"), Some(5));
    assert_eq!(config.money("limits.cost"), Some(Cost::from_nano_usd(1_500_000_000)));
    assert_eq!(config.level("limits.turns"), Some(Level::User));
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
fn an_unknown_key_is_warned_of_with_the_nearest_one_unless_it_seems_to_restrict() {
    let config = Config::merge([said(
        Level::User,
        json!({ "modell": "x", "limits": { "turn": 1 }, "zzz": { "a": 1 }, "budgte": { "day": 1 } }),
    )]);
    let told: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "user settings /p/file: `modell` is not a setting; did you mean `model`?",
            "user settings /p/file: `zzz` is not a setting",
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

/// S27: a project's caps replaced the person's.
#[test]
fn the_smaller_cap_of_person_and_project_counts_and_a_flag_beats_both() {
    let caps = |level, turns: u64, time: &str, day: f64| {
        said(level, json!({ "limits": { "turns": turns, "time": time }, "budget": { "day": day } }))
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
    assert_eq!(raised.count("limits.turns"), Some(500), "what is built in is the person's, too");
    let flags =
        Config::merge([person(), caps(Level::Flags, 900, "9h", 9.0), caps(Level::Project, 1, "1s", 0.1)]);
    assert_eq!(flags.count("limits.turns"), Some(900));
    let managed = Config::merge([caps(Level::Managed, 100, "1h", 5.0), caps(Level::Flags, 900, "5m", 9.0)]);
    assert_eq!(
        (managed.count("limits.turns"), managed.text("limits.time").as_deref()),
        (Some(100), Some("5m"))
    );
}

/// S5: a cap that cannot be read was ignored.
#[test]
fn a_restriction_that_cannot_be_read_is_broken_and_names_its_place() {
    let environment = Said {
        origin: Origin::environment(),
        values: json!({ "limits": { "turns": "abc" } }).as_object().cloned().unwrap_or_default(),
    };
    let config = Config::merge([environment, said(Level::Flags, json!({ "limits": { "time": "10" } }))]);
    let places: Vec<String> = config.broken.iter().map(BrokenRestriction::place).collect();
    assert_eq!(places, ["--max-time", "LARIAT_LIMITS__TURNS"]);
    assert_eq!(config.count("limits.turns"), Some(500));
}

/// S8: a switch that is not in the table was off.
#[test]
fn every_switch_has_a_value_and_every_name_that_the_program_asks_for_is_in_the_table() {
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

#[expect(clippy::disallowed_methods, reason = "the sources of this test")]
fn source(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Compares every `config.kind("name")` of a source with the table.
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
            assert!(fits(key.kind), "`{name}` is asked for as {method}");
            asked += 1;
        }
    }
    asked
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
    let told: Vec<&str> = config.broken.iter().map(|broken| broken.reason.as_str()).collect();
    assert!(told[0].contains("a time such as"), "{told:?}");
    assert!(told[1].contains("a whole number"), "{told:?}");
    assert!(config.warnings[0].problem.ends_with("did you mean \"high\"?"), "{:?}", config.warnings);
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
