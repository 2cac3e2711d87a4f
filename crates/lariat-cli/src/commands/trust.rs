//! `lariat trust`: shows a project's configuration and records whether the user trusts it.

use lariat_core::display;
use lariat_service::trust::{Difference, TrustStatus, TrustStore, WorkspaceEffectKind};
use lariat_service::{LoadedProject, ServiceError};
use lariat_terminal::diff;
use lariat_terminal::theme::Theme;
use serde::Serialize;
use similar::TextDiff;

use super::print::{self, Column};
use super::{CommandResult, confirm};
use crate::args::manage::TrustArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::{ProcessEnv, Stream};

#[derive(Serialize)]
struct TrustReport {
    directory: String,
    standing: &'static str,
    brings: Vec<ReportItem>,
    changed: Vec<String>,
}

#[derive(Serialize)]
struct RevokeReport {
    directory: String,
    revoked: bool,
}

#[derive(Serialize)]
struct ReportItem {
    file: String,
    kind: &'static str,
    what: String,
}

/// Shows the project's configuration, and trusts it if the user confirms.
pub(crate) fn trust(env: &ProcessEnv, args: &TrustArgs) -> CommandResult {
    let store = TrustStore::new(env.folders.trust());
    if args.list {
        return list(&store, args.json);
    }
    if args.revoke {
        return revoke(env, &store, args);
    }
    let place = env.load_project(&env.load_options(args.dir.as_ref()))?;
    let mut report = report(&place);
    if args.json {
        if args.yes {
            place.opened.accept(&store).map_err(ServiceError::from)?;
            report.standing = standing(&TrustStatus::Trusted);
            report.changed.clear();
        }
        return print::json(&report);
    }
    show(env, &place);
    if place.opened.standing.is_trusted() {
        return Ok(Exit::Done);
    }
    if !confirm::confirm(env, "Trust this project with exactly this configuration?", args.yes)? {
        return Ok(Exit::Done);
    }
    place.opened.accept(&store).map_err(ServiceError::from)?;
    print::note("trusted until any of this changes");
    Ok(Exit::Done)
}

/// Shows the project's configuration, and what changed since the user trusted it.
pub(crate) fn show(env: &ProcessEnv, place: &LoadedProject) {
    let report = report(place);
    print::line(&format!("{}: {}", report.directory, standing_text(&place.opened.standing)));
    place.opened.problems.iter().for_each(|problem| print::note(&format!("warning: {problem}")));
    if !report.brings.is_empty() {
        // The user approves this, so it is shown in full.
        let exact = |text: &str| display::line(text).into_owned();
        let rows: Vec<Vec<String>> = report
            .brings
            .iter()
            .map(|item| vec![item.kind.to_owned(), exact(&item.file), exact(&item.what)])
            .collect();
        let columns = [Column::whole("KIND"), Column::whole("FILE"), Column::whole("WHAT")];
        print::out(&print::table(&columns, &rows));
    }
    if let TrustStatus::Changed(differences) = &place.opened.standing {
        print::line("\nchanged since you trusted it:");
        let theme = env.terminal(&place.settings, Stream::Output);
        differences.iter().for_each(|difference| print::out(&file_diff(difference, &theme)));
    }
}

fn report(place: &LoadedProject) -> TrustReport {
    let opened = &place.opened;
    let brings = opened.effects().into_iter();
    let brings = brings.map(|one| ReportItem { kind: kind(one.kind), file: one.file, what: one.what });
    let changed = match &opened.standing {
        TrustStatus::Changed(differences) => differences.iter().map(|found| found.path.clone()).collect(),
        _ => Vec::new(),
    };
    TrustReport {
        directory: opened.territory.root().display().to_string(),
        standing: standing(&opened.standing),
        brings: brings.collect(),
        changed,
    }
}

/// The trust state as a JSON value.
pub(crate) const fn standing(standing: &TrustStatus) -> &'static str {
    match standing {
        TrustStatus::Harmless => "brings nothing",
        TrustStatus::Trusted => "trusted",
        TrustStatus::Unknown => "not trusted",
        TrustStatus::Changed(_) => "not trusted any more",
    }
}
/// The trust state for the user.
pub(crate) const fn standing_text(standing: &TrustStatus) -> &'static str {
    match standing {
        TrustStatus::Harmless => "nothing to trust",
        TrustStatus::Trusted => "trusted",
        TrustStatus::Unknown => "not trusted",
        TrustStatus::Changed(_) => "changed since you trusted it",
    }
}

const fn kind(kind: WorkspaceEffectKind) -> &'static str {
    match kind {
        WorkspaceEffectKind::Hook => "hook",
        WorkspaceEffectKind::Server => "server",
        WorkspaceEffectKind::Api => "API",
        WorkspaceEffectKind::Variable => "variable",
        WorkspaceEffectKind::AllowRule => "allow",
        WorkspaceEffectKind::Setting => "setting",
        WorkspaceEffectKind::Git => "git",
        WorkspaceEffectKind::Instructions => "instructions",
        WorkspaceEffectKind::File => "file",
        _ => "other",
    }
}

/// Shows how a file changed, in full, because the user approves it. In a pipe, a plain diff.
fn file_diff(difference: &Difference, theme: &Theme) -> String {
    let path = display::line(&difference.path);
    let (before, now) = match (&difference.before, &difference.now) {
        (None, _) => return format!("{path}: new\n"),
        (_, None) => return format!("{path}: deleted\n"),
        // The record holds only the beginning of a long file.
        (Some(before), Some(now)) if before == now => {
            return format!("{path}: changed beyond its recorded beginning\n");
        }
        (Some(before), Some(now)) => (before.as_str(), now.as_str()),
    };
    let diff = TextDiff::from_lines(before, now);
    let diff = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    if theme.is_terminal { diff::exact(&diff, usize::MAX, theme) } else { display::block(&diff).into_owned() }
}

fn list(store: &TrustStore, json: bool) -> CommandResult {
    let trusted = store.list()?;
    if json {
        let paths: Vec<&str> = trusted.iter().map(|one| one.identity.path.as_str()).collect();
        return print::json(&paths);
    }
    if trusted.is_empty() {
        print::note("no trusted projects");
    }
    trusted.iter().for_each(|one| print::line(&one.identity.path));
    Ok(Exit::Done)
}

fn revoke(env: &ProcessEnv, store: &TrustStore, args: &TrustArgs) -> CommandResult {
    // Trust in a deleted directory can be revoked, too.
    let named = args.dir.clone().unwrap_or_else(|| env.directory.clone());
    let path = match env.load_project(&env.load_options(Some(&named))) {
        Ok(place) => place.opened.territory.root().display().to_string(),
        // A deleted directory, or one with invalid settings.
        Err(_) => named.canonicalize().unwrap_or(named).display().to_string(),
    };
    if store.revoke(&path)? {
        if args.json {
            return print::json(&RevokeReport { directory: path, revoked: true });
        }
        print::note(&format!("revoked trust in {path}"));
        return Ok(Exit::Done);
    }
    Err(Problem::new(Exit::Failed, "the project is not trusted")
        .at(path)
        .hint("`lariat trust --list` lists trusted projects"))
}
