//! `lariat auth`: manages API keys. Never prints a key.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use lariat_core::nearest::nearest;
use lariat_service::config::Settings;
use lariat_service::models::KNOWN;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde::Serialize;

use super::CommandResult;
use super::print::{self, Column};
use crate::args::manage::{AuthArgs, AuthCommand};
use crate::detect;
use crate::exit::Exit;
use crate::keys::{KeyStore, StoredIn};
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Where a provider's key is.
#[derive(Serialize)]
struct Status {
    provider: String,
    /// A variable's name, `keyring` or `file`.
    from: Option<String>,
    variables: Vec<String>,
}

pub(crate) fn auth(env: &ProcessEnv, args: AuthArgs) -> CommandResult {
    let settings = env.load_project(&env.load_options(None))?.settings;
    let store = env.key_store(settings.auth.store);
    match args.command {
        AuthCommand::Status(args) => status(env, &settings, args.json),
        AuthCommand::Login(args) => login(&settings, &store, &args.provider),
        AuthCommand::Logout(args) => logout(&store, &args.provider),
    }
}

fn status(env: &ProcessEnv, settings: &Settings, json: bool) -> CommandResult {
    let mut found = detect::keys(env, settings)?;
    let mut statuses: Vec<Status> = KNOWN
        .iter()
        .map(|known| {
            let at = found.iter().position(|key| key.provider == known.name);
            let from = at.map(|at| found.remove(at).from);
            let variables = known.variables.iter().map(|name| (*name).to_owned()).collect();
            Status { provider: known.name.to_owned(), from, variables }
        })
        .collect();
    let variable = |provider: &str| settings.providers.get(provider)?.key_env.clone();
    statuses.extend(found.into_iter().map(|key| Status {
        variables: variable(&key.provider).into_iter().collect(),
        provider: key.provider,
        from: Some(key.from),
    }));
    if json {
        return print::json(&statuses);
    }
    let rows: Vec<Vec<String>> = statuses
        .into_iter()
        .map(|status| {
            let from = status.from.unwrap_or_else(|| "-".to_owned());
            vec![status.provider, from, status.variables.join(", ")]
        })
        .collect();
    print::out(&print::table(
        &[Column::text("PROVIDER"), Column::text("KEY"), Column::text("VARIABLES")],
        &rows,
    ));
    Ok(Exit::Done)
}

fn login(settings: &Settings, store: &KeyStore, provider: &str) -> CommandResult {
    let own = || settings.providers.keys().map(String::as_str);
    let known = || KNOWN.iter().map(|known| known.name).chain(own());
    // The credential of an API: `keyring:openapi.NAME`.
    let is_api = provider.strip_prefix("openapi.").is_some_and(|name| !name.is_empty());
    if !is_api && !known().any(|name| name == provider) {
        let near =
            nearest(provider, known()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return Err(Problem::new(Exit::Usage, format!("unknown provider `{provider}`")).hint(format!(
            "{near}`lariat auth status` lists all; to add one, define `[providers.{provider}]` in your settings"
        )));
    }
    let key = read_key(provider)?;
    if key.is_empty() {
        return Err(Problem::new(Exit::Usage, "no API key given")
            .hint(format!("paste the key, or pipe it: `lariat auth login {provider} < FILE`")));
    }
    if key.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err(Problem::new(
            Exit::Usage,
            "invalid API key: it contains white space; nothing was stored",
        )
        .hint("enter only the key, on one line"));
    }
    store_key(store, provider, key)
}

/// Stores a key, and says where.
fn store_key(store: &KeyStore, provider: &str, key: String) -> CommandResult {
    match store.store(provider, key)? {
        StoredIn::Keyring => {
            print::note(&format!("stored the key for {provider} in the system keyring"));
        }
        StoredIn::File { failure, is_old_left } => {
            let reason = failure.map(|error| format!("; the keyring is unavailable: {}", error.cause));
            print::note(&format!(
                "stored the key for {provider} in {}, readable only by you{}",
                store.file.path().display(),
                reason.unwrap_or_default()
            ));
            if is_old_left {
                print::note(&format!("warning: the previous key for {provider} is still in the keyring"));
            }
        }
    }
    Ok(Exit::Done)
}

fn logout(store: &KeyStore, provider: &str) -> CommandResult {
    if !store.remove(provider)? {
        return Err(Problem::new(Exit::Failed, format!("no key is stored for {provider}"))
            .at(store.file.path().display().to_string())
            .hint("`lariat auth status` shows where your keys are"));
    }
    print::note(&format!("removed the key for {provider}"));
    Ok(Exit::Done)
}

/// Reads a line from standard input, with echo off on a terminal.
fn read_key(provider: &str) -> Result<String, Problem> {
    let input = std::io::stdin();
    let is_terminal = input.is_terminal();
    let before = if is_terminal { tcgetattr(&input).ok() } else { None };
    if let Some(before) = &before {
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        unseen.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(&input, OptionalActions::Flush, &unseen).map_err(|error| {
            Problem::new(Exit::Failed, format!("could not turn off terminal echo: {error}"))
        })?;
    }
    if is_terminal {
        // Only after echo is off, so that an immediate paste stays invisible.
        let _ = write!(std::io::stderr(), "API key for {provider}: ");
    }
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    if let Some(before) = &before {
        let _ = tcsetattr(&input, OptionalActions::Flush, before);
    }
    read.map_err(|error| Problem::new(Exit::Failed, format!("could not read the key: {error}")))?;
    Ok(line.trim().to_owned())
}
