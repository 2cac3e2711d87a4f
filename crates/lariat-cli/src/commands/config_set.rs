//! `lariat config set`: writes one setting to a file and leaves the rest of the file unchanged.
//!
//! The table of settings decides which values are valid, so a value that loading would only warn about is not written either.

use lariat_service::config::{Level, Origin, SettingSources, SettingsLayer, explain};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table};

use super::{CommandResult, print};
use crate::args::manage::ConfigSetArgs;
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// A project's settings file.
const PROJECT: &str = "lariat.toml";

pub(super) fn set(env: &ProcessEnv, args: &ConfigSetArgs) -> CommandResult {
    let (path, level) = match args.project {
        true => (env.directory.join(PROJECT), Level::Project),
        false => (env.folders.settings(), Level::User),
    };
    let origin = Origin::file(level, &path);
    let value = if args.unset { None } else { Some(parse_value(&origin, &args.key, &args.value)?) };
    let text = if path.exists() {
        String::from_utf8(files::read(&path)?)
            .map_err(|_| Problem::new(Exit::Setup, "the file is not UTF-8").at(path.display().to_string()))?
    } else {
        String::new()
    };
    let text = edit_text(&text, &args.key, value.as_ref()).map_err(|cause| {
        Problem::new(Exit::Setup, cause)
            .at(path.display().to_string())
            .hint("fix the file first with `lariat config edit`")
    })?;
    files::replace(&path, &text, args.project)?;
    match &value {
        Some(value) => print::line(&format!("{} = {value}", args.key)),
        None => print::line(&format!("{} unset", args.key)),
    }
    print::note(&format!("wrote {}", path.display()));
    note_if_overridden(env, &args.key, &origin, value.as_ref());
    Ok(Exit::Done)
}

/// Notes when the project or a variable overrides the new value.
fn note_if_overridden(env: &ProcessEnv, key: &str, origin: &Origin, value: Option<&Value>) {
    let Ok(place) = env.load_project(&env.load_options(None)) else { return };
    let Some(set) = place.sources.get(key) else { return };
    let stronger = set.origin.filter(|by| by.file != origin.file && Some(&set.value) != value);
    if let Some(stronger) = stronger {
        print::note(&format!("note: the value here stays {}, because {stronger} overrides it", set.value));
    }
}

/// Parses the value as JSON, text or a list of texts, whichever the setting accepts.
fn parse_value(origin: &Origin, key: &str, words: &[String]) -> Result<Value, Problem> {
    let joined = words.join(" ");
    let list = || Value::from(words.to_vec());
    let mut candidates: Vec<Value> = Vec::new();
    candidates.extend(serde_json::from_str(&joined).ok());
    candidates.extend([Value::from(joined.as_str()), list()]);
    let mut problem = None;
    for value in candidates {
        let layer = SettingsLayer { origin: origin.clone(), values: nested(key, value) };
        let sources = SettingSources::merge([layer]);
        if let Some(set) = sources.get(key).filter(|set| set.origin.is_some()) {
            return Ok(set.value);
        }
        let broken = sources.broken.first().map(|broken| broken.reason.clone());
        let warned = sources.warnings.first().map(|warning| warning.problem.clone());
        problem = problem.or(broken).or(warned);
    }
    let cause = match problem {
        Some(problem) => explain(key, &problem),
        None => format!("`{key}` cannot be set with this command"),
    };
    Err(Problem::new(Exit::Usage, cause)
        .hint("`lariat config show` lists the settings; `lariat config edit` opens the file"))
}

/// Settings with a single key, as nested tables.
fn nested(key: &str, value: Value) -> Map<String, Value> {
    let mut map = Map::new();
    match key.split_once('.') {
        None => drop(map.insert(key.to_owned(), value)),
        Some((table, rest)) => drop(map.insert(table.to_owned(), Value::Object(nested(rest, value)))),
    }
    map
}

/// Returns the file with a setting changed, or removed if `value` is `None`. Keeps comments and order.
fn edit_text(text: &str, key: &str, value: Option<&Value>) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        format!("the file is not valid TOML: {}", error.message().trim())
    })?;
    let (tables, name) = match key.rsplit_once('.') {
        Some((tables, name)) => (tables.split('.').collect(), name),
        None => (Vec::new(), key),
    };
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for step in tables {
        if value.is_none() && !table.contains_key(step) {
            return Ok(text.to_owned());
        }
        let below = table.entry(step).or_insert_with(|| {
            let mut new = Table::new();
            // Only a table with direct values needs a heading.
            new.set_implicit(true);
            Item::Table(new)
        });
        table = below.as_table_like_mut().ok_or_else(|| format!("`{step}` is not a table"))?;
    }
    match value {
        None => drop(table.remove(name)),
        Some(value) => {
            let mut new = toml(value)?;
            match table.get_mut(name) {
                // In place: the comment above belongs to the key, the one after it to the value.
                Some(old) => {
                    if let Some(old) = old.as_value() {
                        *new.decor_mut() = old.decor().clone();
                    }
                    *old = Item::Value(new);
                }
                None => drop(table.insert(name, Item::Value(new))),
            }
        }
    }
    Ok(document.to_string())
}

fn toml(value: &Value) -> Result<toml_edit::Value, String> {
    let number = |number: &serde_json::Number| match number.as_i64() {
        Some(whole) => Some(toml_edit::Value::from(whole)),
        None => number.as_f64().map(toml_edit::Value::from),
    };
    match value {
        Value::Bool(flag) => Some(toml_edit::Value::from(*flag)),
        Value::Number(found) => number(found),
        Value::String(text) => Some(toml_edit::Value::from(text.as_str())),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.map(toml_edit::Value::from_iter)
        }
        _ => None,
    }
    .ok_or_else(|| format!("cannot write {value} as TOML"))
}

#[cfg(test)]
#[path = "config_set_tests.rs"]
mod tests;
