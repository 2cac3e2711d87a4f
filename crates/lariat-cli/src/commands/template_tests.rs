use super::*;

/// The template with every commented setting and table switched on.
fn switched_on(template: &str) -> String {
    let is_setting = |line: &str| line.starts_with('[') || line.contains(" = ");
    let lines = template.lines().map(|line| match line.strip_prefix("# ").filter(|rest| is_setting(rest)) {
        Some(rest) => rest.to_owned(),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_template_changes_nothing_as_it_is() {
    for template in [user(), project()] {
        assert!(toml::from_str::<toml::Table>(&template).unwrap().is_empty());
    }
}

#[test]
fn every_setting_of_a_template_can_be_switched_on() {
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
fn a_projects_template_has_nothing_that_only_a_person_may_set() {
    let table: toml::Table = toml::from_str(&switched_on(&project())).unwrap();
    for key in KEYS.iter().filter(|key| key.raises && !key.name.contains('.')) {
        assert!(!table.contains_key(key.name), "{}", key.name);
    }
    assert!(!table.contains_key("providers") && !table.contains_key("sandbox"));
}

/// U11: `tokens = 0` and `model = ""` were in the template: switched on, they stop every run.
#[test]
fn no_example_of_a_template_is_empty_or_zero() {
    for key in KEYS.iter().filter(|key| key.default.is_empty()) {
        let written = written(key);
        assert!(!matches!(written.as_str(), "" | "\"\"" | "0" | "[]"), "{} = {written}", key.name);
    }
}
