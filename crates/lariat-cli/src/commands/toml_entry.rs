//! Changes one named entry of a table in a TOML settings file, and leaves the rest of the file unchanged.

use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

/// Sets or removes the entry `name` of `table`. Returns the changed text; `None` if there is nothing to remove. Keeps
/// comments and order.
pub(super) fn change(
    text: &str,
    table: &str,
    name: &str,
    entry: Option<&Value>,
) -> Result<Option<String>, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        format!("the file is not valid TOML: {}", error.message().trim())
    })?;
    let entries = document.entry(table).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let entries = entries.as_table_like_mut().ok_or_else(|| format!("`{table}` is not a table"))?;
    match entry {
        Some(entry) => drop(entries.insert(name, item(entry)?)),
        None if entries.remove(name).is_none() => return Ok(None),
        None => {}
    }
    Ok(Some(document.to_string()))
}

fn item(value: &Value) -> Result<Item, String> {
    Ok(match value {
        Value::Bool(flag) => toml_edit::value(*flag),
        Value::String(text) => toml_edit::value(text.as_str()),
        Value::Array(items) => {
            let texts = items.iter().filter_map(Value::as_str);
            toml_edit::value(texts.collect::<toml_edit::Array>())
        }
        Value::Object(fields) => {
            let mut table = Table::new();
            for (name, value) in fields {
                table.insert(name, item(value)?);
            }
            Item::Table(table)
        }
        _ => return Err(format!("cannot write {value} as TOML")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn toml_keeps_comments_and_other_entries() {
        let text = "# mine\nmodel = \"a\" # b\n\n[mcp_servers.old]\ncommand = \"old\"\n";
        let entry = json!({ "command": "new", "args": ["a"], "env": { "K": "v" } });
        let added = change(text, "mcp_servers", "new", Some(&entry)).unwrap().unwrap();
        assert!(added.starts_with(text), "{added}");
        assert!(added.contains("[mcp_servers.new]\nargs = [\"a\"]\ncommand = \"new\"\n"), "{added}");
        assert!(added.contains("[mcp_servers.new.env]\nK = \"v\"\n"), "{added}");
        assert_eq!(change(&added, "mcp_servers", "new", None).unwrap().unwrap(), text);
        assert_eq!(change(text, "mcp_servers", "missing", None), Ok(None));
    }
}
