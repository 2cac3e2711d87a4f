//! Tells the user about an untrusted project: asks once on a terminal, otherwise prints one line.
//!
//! A run never drops a project's configuration silently, and uses it only after the user trusted exactly that content. Remembers
//! which projects the user was asked about.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};

use lariat_core::display;
use lariat_service::trust::{Trust, TrustStatus, TrustStore, WorkspaceEffect, WorkspaceEffectKind};
use lariat_service::{LoadOptions, LoadedProject, ServiceError};

use super::{print, trust};
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Names to list per kind; the rest is a count.
const NAMED: usize = 3;

/// Loads a directory. If its project is untrusted, asks whether to trust it, or notes what Lariat ignores.
pub(crate) fn resolve_trust(
    env: &ProcessEnv,
    visit: &LoadOptions,
    may_ask: bool,
) -> Result<LoadedProject, Problem> {
    let place = env.load_project(visit)?;
    let opened = &place.opened;
    if opened.trust == Trust::Trusted || visit.distrusting || opened.standing == TrustStatus::Harmless {
        return Ok(place);
    }
    let asked_projects = AskedProjects::new(env);
    if !may_ask || !env.is_interactive() || opened.manifest.is_none() || asked_projects.was_asked(&place) {
        print::note(&format!("note: {}; {}", situation(&place), advice(&place)));
        return Ok(place);
    }
    let _ = writeln!(std::io::stderr(), "{}.", display::block(&capitalize(&situation(&place))));
    loop {
        let _ = write!(std::io::stderr(), "Trust this project? [t]rust, [n]ot now, [s]how: ");
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        match answer.trim().to_lowercase().as_str() {
            "t" | "trust" | "y" | "yes" => {
                opened.accept(&TrustStore::new(env.folders.trust())).map_err(ServiceError::from)?;
                // Loads again, to use what the user accepted and nothing that changed since.
                return env.load_project(visit);
            }
            "s" | "show" => trust::show(env, &place),
            "n" | "no" | "not now" => break,
            // The terminal was closed.
            _ if !read.is_ok_and(|read| read > 0) => break,
            _ => {}
        }
    }
    asked_projects.remember(&place)?;
    print::note("not trusted; to trust it later, run `lariat trust`");
    Ok(place)
}

/// Says in one line why a project is untrusted and what Lariat ignores.
pub(crate) fn situation(place: &LoadedProject) -> String {
    let summary = summary(&place.opened.effects());
    match &place.opened.standing {
        TrustStatus::Changed(differences) => {
            let paths: Vec<&str> = differences.iter().map(|one| one.path.as_str()).collect();
            format!(
                "this project changed since you trusted it ({}), so Lariat ignores its {summary}",
                abbreviate(&paths)
            )
        }
        _ if place.opened.manifest.is_none() => {
            "this project cannot be trusted in its current state, so Lariat ignores its configuration"
                .to_owned()
        }
        _ => format!("this project is not trusted, so Lariat ignores its {summary}"),
    }
}

/// The next step for an untrusted project.
pub(crate) fn advice(place: &LoadedProject) -> &'static str {
    match &place.opened.standing {
        _ if place.opened.manifest.is_none() => "run `lariat trust` to see why",
        TrustStatus::Changed(_) => "run `lariat trust` to review the changes",
        _ => "run `lariat trust` to review and trust it",
    }
}

/// Summarizes a project's configuration by kind.
fn summary(brought: &[WorkspaceEffect]) -> String {
    let of = |kind: WorkspaceEffectKind| brought.iter().filter(move |one| one.kind == kind);
    let mut parts = Vec::new();
    let files: Vec<&str> = of(WorkspaceEffectKind::Instructions).map(|one| one.file.as_str()).collect();
    if !files.is_empty() {
        parts.push(format!("instructions ({})", abbreviate(&files)));
    }
    for (kind, one, many) in [
        (WorkspaceEffectKind::Hook, "hook", "hooks"),
        (WorkspaceEffectKind::AllowRule, "allow rule", "allow rules"),
        (WorkspaceEffectKind::Server, "MCP server", "MCP servers"),
        (WorkspaceEffectKind::Api, "API", "APIs"),
        (WorkspaceEffectKind::Variable, "variable", "variables"),
        (WorkspaceEffectKind::Setting, "setting", "settings"),
        (WorkspaceEffectKind::Git, "git setting", "git settings"),
        (WorkspaceEffectKind::File, "other file", "other files"),
    ] {
        let count = of(kind).count();
        if count > 0 {
            parts.push(print::counted(count, one, many));
        }
    }
    match parts.as_slice() {
        [] => "configuration".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn abbreviate(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The projects that the user was asked about, with a fingerprint of their configuration.
struct AskedProjects {
    file: std::path::PathBuf,
    asked: BTreeMap<String, String>,
}

impl AskedProjects {
    fn new(env: &ProcessEnv) -> Self {
        let file = env.folders.state.join("asked.json");
        // Asks again if the file is unreadable.
        let asked = files::text(&file).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { file, asked }
    }

    fn was_asked(&self, place: &LoadedProject) -> bool {
        self.asked.get(&place.opened.identity.path) == Some(&place.opened.fingerprint())
    }

    fn remember(mut self, place: &LoadedProject) -> Result<(), Problem> {
        self.asked.insert(place.opened.identity.path.clone(), place.opened.fingerprint());
        files::write_private(&self.file, serde_json::to_string_pretty(&self.asked).unwrap_or_default())
    }
}
