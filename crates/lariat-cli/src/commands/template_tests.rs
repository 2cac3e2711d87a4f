use super::*;

/// The template with every setting and table uncommented.
fn switched_on(template: &str) -> String {
    let is_key = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_setting =
        |line: &str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| is_key(key));
    let lines = template.lines().map(|line| match line.strip_prefix("# ").filter(|rest| is_setting(rest)) {
        Some(rest) => rest.to_owned(),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn template_sets_nothing() {
    for template in [user(), project()] {
        assert!(toml::from_str::<toml::Table>(&template).unwrap().is_empty());
    }
}

#[test]
fn every_template_setting_is_valid_when_uncommented() {
    let table: toml::Table = toml::from_str(&switched_on(&user())).unwrap();
    for key in KEYS {
        let found = key
            .name
            .replace('*', "NAME")
            .split('.')
            .try_fold(toml::Value::Table(table.clone()), |value, name| value.get(name).cloned());
        assert!(found.is_some(), "{} is not in the template", key.name);
    }
}

#[test]
fn project_template_omits_user_only_settings() {
    let table: toml::Table = toml::from_str(&switched_on(&project())).unwrap();
    for key in KEYS.iter().filter(|key| key.raises && !key.name.contains('.')) {
        assert!(!table.contains_key(key.name), "{}", key.name);
    }
    assert!(!table.contains_key("providers") && !table.contains_key("sandbox"));
}

/// `tokens = 0` or `model = ""` in the template would stop every run once uncommented.
#[test]
fn template_examples_are_not_empty_or_zero() {
    for key in KEYS.iter().filter(|key| key.default_value().is_none()) {
        let written = example_value(key);
        assert!(!matches!(written.as_str(), "" | "\"\"" | "0" | "[]"), "{} = {written}", key.name);
    }
}
