//! `lariat mcp add` and `remove`: change one entry of a settings file, and leave the rest of the file unchanged.

use std::path::PathBuf;

use lariat_service::mcp::McpServerConfig;
use serde_json::{Map, Value, json};

use crate::args::mcp::{McpAddArgs, McpRemoveArgs, McpTransportArg, Scope};
use crate::commands::{CommandResult, print, toml_entry};
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// The table of servers in `.mcp.json`.
const JSON_TABLE: &str = "mcpServers";
/// The table of servers in the user's settings.
const TOML_TABLE: &str = "mcp_servers";

pub(super) fn add(env: &ProcessEnv, args: &McpAddArgs) -> CommandResult {
    let entry = entry(args)?;
    // Names of variables are checked when the server starts.
    McpServerConfig::parse(&args.name, &entry, "", &|_| Some(String::new()))
        .map_err(|error| Problem::new(Exit::Usage, error.to_string()))?;
    if args.scope == Scope::Project && entry.get("sandbox").is_some() {
        return Err(Problem::new(Exit::Usage, "a project cannot open the sandbox of its servers")
            .hint("add the server to your own settings: leave out `--scope project`"));
    }
    let path = change(env, args.scope, &args.name, Some(&entry))?;
    report(&args.name, args.scope, &path, args.json, "added")?;
    if !args.json {
        let next = match args.scope {
            Scope::User => format!("check it with `lariat mcp test {}`", args.name),
            Scope::Project => "review and trust it with `lariat trust`".to_owned(),
        };
        print::note(&next);
    }
    Ok(Exit::Done)
}

pub(super) fn remove(env: &ProcessEnv, args: &McpRemoveArgs) -> CommandResult {
    let path = change(env, args.scope, &args.name, None)?;
    report(&args.name, args.scope, &path, args.json, "removed")
}

fn report(name: &str, scope: Scope, path: &std::path::Path, json: bool, what: &str) -> CommandResult {
    if json {
        return print::json(&json!({
            "name": name, "scope": scope.name(), "file": path.display().to_string(), "result": what,
        }));
    }
    print::line(&format!("{what} {name}"));
    print::note(&format!("wrote {}", path.display()));
    Ok(Exit::Done)
}

/// The entry that the arguments describe.
fn entry(args: &McpAddArgs) -> Result<Value, Problem> {
    let usage = |cause: String| Problem::new(Exit::Usage, cause);
    let mut entry = Map::new();
    let (first, rest) =
        args.target.split_first().ok_or_else(|| usage("the command is missing".to_owned()))?;
    let pairs = |texts: &[String], separator: char, flag: &str| {
        let pair = |text: &String| {
            let (name, value) = text.split_once(separator)?;
            Some((name.trim().to_owned(), Value::from(value.trim_start())))
        };
        let pairs: Option<Map<String, Value>> = texts.iter().map(pair).collect();
        pairs.ok_or_else(|| usage(format!("`{flag}` needs a name and a value, separated by `{separator}`")))
    };
    if args.transport == McpTransportArg::Stdio {
        if first.starts_with("http://") || first.starts_with("https://") {
            return Err(usage("an address needs `--transport http`".to_owned()));
        }
        entry.insert("command".to_owned(), first.as_str().into());
        if !rest.is_empty() {
            entry.insert("args".to_owned(), rest.into());
        }
        let variables = pairs(&args.variables, '=', "--env")?;
        if !variables.is_empty() {
            entry.insert("env".to_owned(), Value::Object(variables));
        }
        if let Some(directory) = &args.cwd {
            entry.insert("cwd".to_owned(), directory.display().to_string().into());
        }
        let mut sandbox = Map::new();
        if args.network {
            sandbox.insert("network".to_owned(), true.into());
        }
        if args.no_sandbox {
            sandbox.insert("enabled".to_owned(), false.into());
        }
        if !args.writable.is_empty() {
            let paths: Vec<String> = args.writable.iter().map(|path| path.display().to_string()).collect();
            sandbox.insert("writable".to_owned(), paths.into());
        }
        if !sandbox.is_empty() {
            entry.insert("sandbox".to_owned(), Value::Object(sandbox));
        }
    } else {
        let kind = if args.transport == McpTransportArg::Http { "http" } else { "sse" };
        entry.insert("type".to_owned(), kind.into());
        entry.insert("url".to_owned(), first.as_str().into());
        let headers = pairs(&args.headers, ':', "--header")?;
        if !headers.is_empty() {
            entry.insert("headers".to_owned(), Value::Object(headers));
        }
    }
    Ok(Value::Object(entry))
}

/// Sets or removes an entry of the file of a scope, and returns its path.
fn change(env: &ProcessEnv, scope: Scope, name: &str, entry: Option<&Value>) -> Result<PathBuf, Problem> {
    let path = match scope {
        Scope::User => env.folders.settings(),
        Scope::Project => env.directory.join(".mcp.json"),
    };
    let text = if path.exists() {
        String::from_utf8(files::read(&path)?)
            .map_err(|_| Problem::new(Exit::Setup, "the file is not UTF-8").at(path.display().to_string()))?
    } else {
        String::new()
    };
    let changed = match scope {
        Scope::User => toml_entry::change(&text, TOML_TABLE, name, entry),
        Scope::Project => change_json(&text, name, entry),
    };
    let changed = changed.map_err(|cause| Problem::new(Exit::Setup, cause).at(path.display().to_string()))?;
    let changed = changed.ok_or_else(|| {
        Problem::new(Exit::Usage, format!("no MCP server is named `{name}` there"))
            .at(path.display().to_string())
            .hint("`lariat mcp list` shows the servers that apply here")
    })?;
    files::replace(&path, &changed, scope == Scope::Project)?;
    Ok(path)
}

/// Returns the changed text; `None` if there is nothing to remove.
fn change_json(text: &str, name: &str, entry: Option<&Value>) -> Result<Option<String>, String> {
    let mut document: Value = if text.trim().is_empty() {
        json!({})
    } else {
        serde_json::from_str(text).map_err(|error| format!("the file is not valid JSON: {error}"))?
    };
    let root = document.as_object_mut().ok_or("the file is not a JSON object")?;
    let servers = root.entry(JSON_TABLE).or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or_else(|| format!("`{JSON_TABLE}` is not an object"))?;
    match entry {
        Some(entry) => drop(servers.insert(name.to_owned(), entry.clone())),
        None if servers.remove(name).is_none() => return Ok(None),
        None => {}
    }
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    Ok(Some(format!("{text}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_other_fields() {
        let text = r#"{"other": 1, "mcpServers": {"old": {"command": "old"}}}"#;
        let added = change_json(text, "new", Some(&json!({ "command": "new" }))).unwrap().unwrap();
        let value: Value = serde_json::from_str(&added).unwrap();
        assert_eq!(value["other"], 1);
        assert_eq!(value["mcpServers"]["new"]["command"], "new");
        assert_eq!(value["mcpServers"]["old"]["command"], "old");
        assert!(change_json("[]", "new", None).is_err());
    }
}
