//! Initial settings files: every setting with its description, commented out. Generated from the table of settings.

use lariat_service::config::{KEYS, Key, Kind};

/// The user's settings file.
pub(crate) fn user() -> String {
    let head = "# Your Lariat settings, for all projects. Uncomment a line to change it.\n\
                # `lariat config show --origin` shows the effective values and where they come from.\n";
    format!("{head}{}", body(|_| true))
}

/// A project's settings file. Omits settings that only the user may set.
pub(crate) fn project() -> String {
    let head = "# Lariat settings for this project, shared by everyone who works on it.\n\
                # Uncomment a line to change it. Lariat uses this file once you trust the project with `lariat trust`.\n";
    let rules = "\n# Permission rules, as in Claude Code: what runs without asking, what requires approval, what never runs.\n\
                 # [permissions]\n# allow = [\"Bash(make test)\"]\n# ask = []\n# deny = [\"Read(.env)\"]\n";
    format!("{head}{}{rules}", body(|key| !key.raises))
}

fn body(is_meant: impl Fn(&Key) -> bool) -> String {
    let mut text = String::new();
    let mut table = "";
    // Keys outside a table must come before the first table.
    let (bare, within): (Vec<&Key>, Vec<&Key>) = KEYS.iter().partition(|key| !key.name.contains('.'));
    for key in bare.into_iter().chain(within).filter(|key| is_meant(key)) {
        let (within, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if within != table {
            text.push_str(&format!("\n# [{}]", within.replace('*', "NAME")));
            table = within;
        }
        text.push_str(&format!("\n# {}\n# {name} = {}\n", key.about, example_value(key)));
    }
    text
}

/// The default of a setting, or a working example; never a value that disables something.
fn example_value(key: &Key) -> String {
    match (key.default_value(), key.kind) {
        (Some(default), _) => default.to_string(),
        (None, Kind::Word(words)) if key.example.is_empty() => {
            format!("\"{}\"", words.first().copied().unwrap_or_default())
        }
        (None, _) => key.example.to_owned(),
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
