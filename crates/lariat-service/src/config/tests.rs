use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::time::Duration;

use lariat_core::usage::Cost;
use lariat_guard::{BrokenRestriction, Level, Origin};
use serde_json::{Value, json};

use super::*;

fn layer(level: Level, values: Value) -> SettingsLayer {
    let Value::Object(values) = values else { unreachable!("a table") };
    let origin = match level {
        Level::Flags => Origin::flags(),
        Level::Environment => Origin::environment(),
        _ => Origin::file(level, "/p/file"),
    };
    SettingsLayer { origin, values }
}

fn resolved(layers: impl IntoIterator<Item = SettingsLayer>) -> Settings {
    SettingSources::merge(layers).settings().unwrap()
}

/// Nested tables with one value.
fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |value, word| json!({ word: value }))
}

/// The path of a setting, with a name for `*`.
fn path(key: &Key) -> String {
    key.name.replace('*', "mine")
}

fn turns(count: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(count)
}

/// The paths of all values in a JSON object.
fn leaves(within: &str, value: &Value, found: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().unwrap() {
        let path = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        match value {
            Value::Object(_) if !KEYS.iter().any(|key| key.name == path) => leaves(&path, value, found),
            _ => drop(found.insert(path)),
        }
    }
}

/// A valid value that is not the default.
fn sample(key: &Key) -> Value {
    match key.kind {
        Kind::Text => json!("some text"),
        Kind::Flag => json!(key.default_value() != Some(json!(true))),
        Kind::Count | Kind::Positive => json!(7),
        Kind::Percent => json!(42),
        Kind::Money => json!(1.5),
        Kind::Time => json!("90s"),
        Kind::Word(words) => {
            let default = key.default_value();
            words.iter().map(|word| json!(word)).find(|word| Some(word) != default.as_ref()).unwrap()
        }
        Kind::Texts => json!(["a", "b"]),
        Kind::Hosts => json!(["a.example", "*.b.example:443"]),
    }
}

/// Values that a kind must reject.
fn broken_values(kind: Kind) -> Vec<Value> {
    let mut broken = vec![Value::Null, json!({}), json!([1]), json!({ "enabled": false })];
    broken.extend(match kind {
        Kind::Text => vec![json!(1), json!(true)],
        Kind::Flag => vec![json!("true"), json!("yes"), json!("off"), json!(""), json!(0), json!(1)],
        Kind::Count => vec![json!(-1), json!(1.5), json!("1"), json!("many"), json!(""), json!(true)],
        Kind::Positive => vec![json!(0), json!(-1), json!(1.5), json!("1"), json!("many"), json!("")],
        Kind::Percent => vec![json!(-1), json!(101), json!("80"), json!("")],
        Kind::Money => vec![json!(-0.1), json!("1 dollar"), json!("5"), json!(""), json!(true)],
        Kind::Time => vec![json!("10"), json!("ten"), json!(""), json!("5w"), json!(-1), json!(1.5)],
        Kind::Word(words) => {
            let first = words[0];
            vec![json!(format!("{first}x")), json!(first.to_uppercase()), json!(""), json!(1), json!(false)]
        }
        Kind::Texts => vec![json!("a"), json!(["a", 1])],
        Kind::Hosts => vec![
            json!("a.example"),
            json!(["a.example", 1]),
            json!([""]),
            json!(["*"]),
            json!(["*."]),
            json!(["a.*.example"]),
            json!(["https://a.example"]),
            json!(["a.example/path"]),
            json!(["a.example:"]),
            json!(["a.example:0"]),
            json!(["a.example:http"]),
            json!(["a..example"]),
            json!(["a b"]),
        ],
    });
    broken
}

#[test]
fn every_field_has_a_key_and_every_key_a_field() {
    let mut settings = Settings::default();
    settings.providers.insert("*".to_owned(), ProviderSettings::default());
    let mut fields = BTreeSet::new();
    leaves("", &serde_json::to_value(&settings).unwrap(), &mut fields);
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(fields, names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(fields.len(), names.len(), "a key is listed twice");
}

#[test]
fn each_key_changes_its_own_field_and_no_other() {
    for key in KEYS {
        let sample = sample(key);
        let settings = resolved([layer(Level::User, nested(&path(key), sample.clone()))]);
        for other in KEYS {
            let expected = if other.name == key.name { Some(sample.clone()) } else { other.default_value() };
            assert_eq!((other.get)(&settings, "mine"), expected, "{} after {}", other.name, key.name);
        }
    }
}

/// Whatever is wrong with a restriction, and wherever it is written: there are no settings, and the error names the setting.
#[test]
fn every_restricting_key_fails_closed_for_every_broken_value_in_every_layer() {
    let mut tried = 0;
    for key in KEYS.iter().filter(|key| key.restricts) {
        let levels =
            [Level::Managed, Level::Flags, Level::Environment, Level::Local, Level::Project, Level::User];
        for level in levels.into_iter().filter(|level| !(key.raises && level.is_workspace_level())) {
            for value in broken_values(key.kind) {
                // A valid value of another layer must not hide the broken one.
                let other = if level == Level::Managed { Level::User } else { Level::Managed };
                let sources = SettingSources::merge([
                    layer(level, nested(key.name, value.clone())),
                    layer(other, nested(key.name, sample(key))),
                ]);
                let broken = sources.settings().expect_err(&format!("{} = {value} in {level:?}", key.name));
                assert!(broken.subject.starts_with(key.name), "{broken} for {} = {value}", key.name);
                assert!(!broken.location().is_empty());
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn every_misspelled_restricting_key_fails_closed() {
    for key in KEYS.iter().filter(|key| key.restricts) {
        let (table, name) = key.name.rsplit_once('.').map_or(("", key.name), |(table, name)| (table, name));
        let dot = if table.is_empty() { "" } else { "." };
        let end = name.len() - 1;
        let swapped = format!("{}{}{}", &name[1..2], &name[..1], &name[2..]);
        let doubled = format!("{}{name}", &name[..1]);
        for wrong in [name[..end].to_owned(), doubled, swapped, name.to_uppercase()] {
            let path = format!("{table}{dot}{wrong}");
            let sources = SettingSources::merge([layer(Level::User, nested(&path, sample(key)))]);
            assert!(sources.settings().is_err(), "`{path}` for `{}`: {:?}", key.name, sources.warnings);
        }
    }
}

#[test]
fn stronger_layer_wins_per_key() {
    let sources = SettingSources::merge([
        layer(Level::User, json!({ "model": "a", "limits": { "turns": 5, "cost": 1.5 } })),
        layer(Level::Project, json!({ "limits": { "turns": 9 } })),
        layer(Level::Flags, json!({ "model": "b" })),
    ]);
    let settings = sources.settings().unwrap();
    assert_eq!(settings.model.as_deref(), Some("b"));
    assert_eq!(settings.limits.turns, turns(5));
    assert_eq!(settings.limits.cost, Some(Cost::from_nano_usd(1_500_000_000)));
    let origin = sources.get("limits.turns").and_then(|set| set.origin);
    assert_eq!(origin.map(|origin| origin.level), Some(Level::User));
    assert!(sources.warnings.is_empty(), "{:?}", sources.warnings);
}

#[test]
fn unset_keys_have_defaults() {
    let settings = resolved([]);
    assert_eq!(settings, Settings::default());
    assert_eq!(settings.context.warn_at, 80);
    assert!(settings.sandbox.enabled && !settings.sandbox.network);
    assert_eq!((settings.model, settings.mode), (None, None));
    let set = SettingSources::default().get("limits.turns");
    assert_eq!(set.map(|set| (set.value, set.origin)), Some((json!(500), None)));
}

#[test]
fn unknown_key_is_a_warning_unless_it_seems_to_restrict() {
    let sources = SettingSources::merge([layer(
        Level::User,
        json!({ "modell": "x", "limits": { "turn": 1 }, "zzz": { "a": 1 }, "budgte": { "day": 1 } }),
    )]);
    let warnings: Vec<String> = sources.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "user settings /p/file: unknown setting `modell`; did you mean `model`?",
            "user settings /p/file: unknown setting `zzz`",
        ]
    );
    let broken: Vec<String> = sources.broken.iter().map(ToString::to_string).collect();
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
    for (count, time, day) in [(50, "1h", 9.0), (20, "10m", 2.0)] {
        let settings = resolved([person(), caps(Level::Project, count, time, day)]);
        let limits = (settings.limits.turns, settings.limits.time, settings.budget.day);
        let day = Some(Cost::from_nano_usd(2_000_000_000));
        assert_eq!(limits, (turns(20), Some(Duration::from_secs(600)), day));
    }
    let limits = |layers: Vec<SettingsLayer>| {
        let limits = resolved(layers).limits;
        (limits.turns, limits.time.map(|time| time.as_secs()))
    };
    let project = vec![person(), caps(Level::Project, 5, "90s", 1.0), caps(Level::Local, 7, "2h", 3.0)];
    assert_eq!(limits(project), (turns(5), Some(90)));
    let raised = limits(vec![caps(Level::Project, 5_000, "1h", 1.0)]);
    assert_eq!(raised.0, turns(500), "a default is the user's, too");
    let flags = vec![person(), caps(Level::Flags, 900, "9h", 9.0), caps(Level::Project, 1, "1s", 0.1)];
    assert_eq!(limits(flags).0, turns(900));
    let managed = vec![caps(Level::Managed, 100, "1h", 5.0), caps(Level::Flags, 900, "5m", 9.0)];
    assert_eq!(limits(managed), (turns(100), Some(300)));
}

/// An invalid limit must not be ignored.
#[test]
fn invalid_restriction_is_broken_and_names_its_place() {
    let sources = SettingSources::merge([
        layer(Level::Environment, json!({ "limits": { "turns": "abc" } })),
        layer(Level::Flags, json!({ "limits": { "time": "10" } })),
    ]);
    let places: Vec<String> = sources.broken.iter().map(BrokenRestriction::location).collect();
    assert_eq!(places, ["--max-time", "LARIAT_LIMITS__TURNS"]);
    assert_eq!(sources.settings().map_err(|broken| broken.location()), Err("--max-time".to_owned()));
}

#[test]
fn project_cannot_raise_permissions() {
    let sources = SettingSources::merge([layer(
        Level::Project,
        json!({ "mode": "bypassPermissions", "sandbox": { "enabled": false }, "providers": { "x": { "base_url": "http://evil" } } }),
    )]);
    let settings = sources.settings().unwrap();
    assert_eq!(settings.mode, None);
    assert!(settings.sandbox.enabled);
    assert!(settings.providers.is_empty());
    assert_eq!(sources.warnings.len(), 3, "{:?}", sources.warnings);
}

#[test]
fn invalid_value_error_names_valid_values() {
    let sources = SettingSources::merge([layer(
        Level::User,
        json!({ "thinking": "hihg", "limits": { "time": "soon", "turns": -1 } }),
    )]);
    let reasons: Vec<&str> = sources.broken.iter().map(|broken| broken.reason.as_str()).collect();
    assert!(reasons[0].contains("a duration such as"), "{reasons:?}");
    assert!(reasons[1].contains("a whole number"), "{reasons:?}");
    assert!(sources.warnings[0].problem.ends_with("did you mean \"high\"?"), "{:?}", sources.warnings);
}

#[test]
fn providers_are_entries_with_names_that_the_user_chooses() {
    let mine = json!({ "providers": { "mine": { "api": "openai-chat", "base_url": "http://localhost:1" } } });
    let settings = resolved([layer(Level::User, mine)]);
    assert_eq!(settings.providers.keys().collect::<Vec<_>>(), ["mine"]);
    let provider = &settings.providers["mine"];
    assert_eq!(provider.api.map(ProviderApi::as_str), Some("openai-chat"));
    assert_eq!(provider.base_url.as_deref(), Some("http://localhost:1"));
}

#[test]
fn accepts_keys_that_other_modules_read() {
    let sources = SettingSources::merge([layer(
        Level::User,
        json!({ "permissions": {}, "hooks": {}, "env": {}, "mcp_servers": {}, "openapi": {} }),
    )]);
    assert!(sources.warnings.is_empty());
}

#[test]
fn every_default_is_valid_and_in_the_schema() {
    let schema = schema();
    for key in KEYS {
        if let Some(default) = key.default_value() {
            assert_eq!(key.kind.read(&default), Ok(default), "{}", key.name);
        }
        let path = key.name.split('.').fold(String::new(), |path, word| match word {
            "*" => format!("{path}/additionalProperties"),
            word => format!("{path}/properties/{word}"),
        });
        assert!(schema.pointer(&path).is_some(), "{path}");
    }
}
