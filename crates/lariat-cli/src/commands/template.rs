//! Files of settings to begin with: every key, commented out, with what it does. Made from the one table of keys.

use lariat_service::config::{KEYS, Key, Kind};

/// The person's own settings.
pub(crate) fn user() -> String {
    let head = "# Your settings of Lariat, for all projects. Remove the `#` before what you want to change.\n\
                # `lariat config show --origin` says what counts, and where it was written.\n";
    format!("{head}{}", body(|_| true))
}

/// A project's settings: what only a person may set is not in it.
pub(crate) fn project() -> String {
    let head = "# Settings of Lariat for this project, shared by everybody who works on it.\n\
                # Remove the `#` before what should count here. They count once the workspace is trusted: `lariat trust`.\n";
    let rules = "\n# What runs without a question, what is asked, what never runs: as in Claude Code's settings.\n\
                 # [permissions]\n# allow = [\"Bash(make test)\"]\n# ask = []\n# deny = [\"Read(.env)\"]\n";
    format!("{head}{}{rules}", body(|key| !key.raises))
}

fn body(is_meant: impl Fn(&Key) -> bool) -> String {
    let mut text = String::new();
    let mut table = "";
    // What is in no table comes before the first one.
    let (bare, within): (Vec<&Key>, Vec<&Key>) = KEYS.iter().partition(|key| !key.name.contains('.'));
    for key in bare.into_iter().chain(within).filter(|key| is_meant(key)) {
        let (within, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if within != table {
            text.push_str(&format!("\n# [{}]", within.replace('*', "NAME")));
            table = within;
        }
        text.push_str(&format!("\n# {}\n# {name} = {}\n", key.about, written(key)));
    }
    text
}

/// The built-in value of a key, or an example that works: never a value that switches something off.
fn written(key: &Key) -> String {
    let quoted = |text: &str| format!("\"{text}\"");
    match key.kind {
        Kind::Text | Kind::Time | Kind::Word(_) if !key.default.is_empty() => quoted(key.default),
        _ if !key.default.is_empty() => key.default.to_owned(),
        Kind::Word(words) if key.example.is_empty() => quoted(words.first().copied().unwrap_or_default()),
        _ => key.example.to_owned(),
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
