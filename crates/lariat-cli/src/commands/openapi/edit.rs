//! `lariat openapi add` and `remove`: change one entry of a settings file, and leave the rest of the file unchanged.

use std::path::{Path, PathBuf};

use lariat_core::display;
use lariat_service::openapi::{
    AuthReference, InternalAddresses, OpenApiDocument, OpenApis, OperationFilter, check_name, is_same_host,
    selected,
};
use serde_json::{Map, Value, json};

use super::{accept, open};
use crate::args::mcp::Scope;
use crate::args::openapi::{OpenApiAddArgs, OpenApiRemoveArgs};
use crate::commands::confirm::confirm;
use crate::commands::{CommandResult, print, toml_entry};
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// The table of APIs in settings.
const TABLE: &str = "openapi";

pub(super) async fn add(env: &ProcessEnv, args: &OpenApiAddArgs) -> CommandResult {
    let usage = |cause: String| Problem::new(Exit::Usage, cause);
    check_name(&args.name).map_err(usage)?;
    args.auth.as_deref().map(AuthReference::parse).transpose().map_err(usage)?;
    if args.scope == Scope::Project && args.internal {
        return Err(usage("a project cannot reach internal networks".to_owned())
            .hint("add the API to your own settings: leave out `--scope project`"));
    }
    let apis = open(env).await?;
    let source = source(env, args);
    let internal = if args.internal { InternalAddresses::OfHost } else { InternalAddresses::Written };
    let document = apis.document(&source, internal).await.map_err(|error| {
        Problem::new(Exit::Failed, error.to_string()).at(display::line(&source).into_owned())
    })?;
    let filter = OperationFilter::Matching { include: args.include.clone(), exclude: args.exclude.clone() };
    selected(&document, &args.name, &filter).map_err(usage)?;
    let base = base_url(env, args, &document, &source)?;
    let path = change(env, args.scope, &args.name, Some(&entry(args, &source, &base)))?;
    if !args.json {
        print::line(&format!("added {}", args.name));
        print::note(&format!("wrote {}", path.display()));
    }
    if args.scope == Scope::Project {
        let next =
            format!("review the project with `lariat trust`, then run `lariat openapi trust {}`", args.name);
        if args.json {
            return print::json(
                &json!({ "name": args.name, "file": path.display().to_string(), "tools": 0, "next": next }),
            );
        }
        print::note(&next);
        return Ok(Exit::Done);
    }
    let (apis, read) = super::read(env, &args.name).await?;
    accept(&apis, &args.name, &read)?;
    if args.json {
        return print::json(&json!({
            "name": args.name,
            "file": path.display().to_string(),
            "base_url": base,
            "tools": read.operations.len(),
            "left_out": read.left_out,
        }));
    }
    report(&apis, &args.name, &base, read.operations.len());
    for left_out in &read.left_out {
        print::note(&format!("left out: {left_out}"));
    }
    Ok(Exit::Done)
}

fn report(apis: &OpenApis, name: &str, base: &str, tools: usize) {
    print::field("requests", base);
    print::field("tools", &tools.to_string());
    if let Some(entry) = apis.entries().find(|entry| entry.name == name)
        && let Some(auth) = &entry.auth
    {
        print::field("credential", auth.reference());
    }
    print::note(&format!("`lariat openapi show {name}` lists its operations"));
}

/// The document as settings name it: an address, an absolute path, or a path in the project.
fn source(env: &ProcessEnv, args: &OpenApiAddArgs) -> String {
    let document = &args.document;
    if document.starts_with("https://") || document.starts_with("http://") {
        return document.clone();
    }
    env.directory.join(document).display().to_string()
}

/// Where requests go: the named address, or the document's server if it is on the same host or the user agrees.
fn base_url(
    env: &ProcessEnv,
    args: &OpenApiAddArgs,
    document: &OpenApiDocument,
    source: &str,
) -> Result<String, Problem> {
    let usage = |cause: String| Problem::new(Exit::Usage, cause).hint("name the address: `--base-url URL`");
    if let Some(named) = &args.base_url {
        return Ok(named.trim_end_matches('/').to_owned());
    }
    let address = source.starts_with("http").then_some(source);
    let server = document.server_url(address).map_err(|error| usage(error.to_string()))?;
    let server = server.trim_end_matches('/').to_owned();
    let is_weaker = source.starts_with("https://") && !server.starts_with("https://");
    if is_weaker || (address.is_none() && !server.starts_with("https://")) {
        return Err(usage(format!(
            "the document names the server `{}`, which is not `https`",
            display::line(&server)
        )));
    }
    if address.is_some_and(|address| is_same_host(address, &server)) {
        return Ok(server);
    }
    let shown = display::line(&server).into_owned();
    let with = args.auth.as_ref().map(|_| " with your credential").unwrap_or_default();
    print::note(&format!("the document names the server {shown}, which you did not name"));
    match confirm(env, &format!("Send requests{with} to {shown}?"), args.yes)? {
        true => Ok(server),
        false => Err(usage("the API was not added".to_owned())),
    }
}

fn entry(args: &OpenApiAddArgs, source: &str, base: &str) -> Value {
    let document = match args.scope {
        Scope::Project => args.document.as_str(),
        Scope::User => source,
    };
    let mut entry = Map::new();
    entry.insert("document".to_owned(), document.into());
    entry.insert("base_url".to_owned(), base.into());
    for (name, patterns) in [("include", &args.include), ("exclude", &args.exclude)] {
        if !patterns.is_empty() {
            entry.insert(name.to_owned(), patterns.as_slice().into());
        }
    }
    if let Some(auth) = &args.auth {
        entry.insert("auth".to_owned(), auth.as_str().into());
    }
    if args.internal {
        entry.insert("internal".to_owned(), true.into());
    }
    Value::Object(entry)
}

pub(super) fn remove(env: &ProcessEnv, args: &OpenApiRemoveArgs) -> CommandResult {
    let path = change(env, args.scope, &args.name, None)?;
    if args.json {
        return print::json(
            &json!({ "name": args.name, "file": path.display().to_string(), "result": "removed" }),
        );
    }
    print::line(&format!("removed {}", args.name));
    print::note(&format!("wrote {}", path.display()));
    Ok(Exit::Done)
}

/// Sets or removes an entry of the file of a scope, and returns its path.
fn change(env: &ProcessEnv, scope: Scope, name: &str, entry: Option<&Value>) -> Result<PathBuf, Problem> {
    let path = match scope {
        Scope::User => env.folders.settings(),
        Scope::Project => env.directory.join("lariat.toml"),
    };
    let at = |problem: Problem, path: &Path| problem.at(path.display().to_string());
    let text = if path.exists() {
        String::from_utf8(files::read(&path)?)
            .map_err(|_| at(Problem::new(Exit::Setup, "the file is not UTF-8"), &path))?
    } else {
        String::new()
    };
    let changed = toml_entry::change(&text, TABLE, name, entry)
        .map_err(|cause| at(Problem::new(Exit::Setup, cause), &path))?;
    let changed = changed.ok_or_else(|| {
        at(Problem::new(Exit::Usage, format!("no API is named `{name}` there")), &path)
            .hint("`lariat openapi list` shows the APIs that apply here")
    })?;
    files::replace(&path, &changed, scope == Scope::Project)?;
    Ok(path)
}
