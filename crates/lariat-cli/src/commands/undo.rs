//! `lariat undo`: undoes file changes made by the agent.

use std::path::Path;

use lariat_service::ServiceError;
use lariat_service::file_history::{
    ChangedCall, Item, Preview, Reason, RewindResult, Undo, UndoError, UndoStores, changed_calls,
    path_text as text, reason_text, restore,
};
use serde::Serialize;

use super::{CommandResult, confirm, print, undo_list};
use crate::args::manage::UndoArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// The result of an undo, for `--json`.
#[derive(Serialize)]
pub(super) struct UndoReport {
    /// Files are as they were before this tool call.
    to: String,
    /// The id that undoes this undo; `None` if nothing changed.
    undo: Option<String>,
    restored: Vec<String>,
    kept: Vec<KeptFile>,
    not_restorable: Vec<String>,
}

#[derive(Serialize)]
struct KeptFile {
    path: String,
    reason: &'static str,
}

/// Undoes tool calls, or lists those that can be undone.
pub(crate) async fn undo(env: &ProcessEnv, args: &UndoArgs) -> CommandResult {
    let place = env.load_project(&env.load_options(None))?;
    let stores = stores(env, place.path())?;
    let stores = stores.stores();
    let calls: Vec<(&Undo, Vec<ChangedCall>)> =
        stores.iter().map(|undo| (undo, changed_calls(undo))).collect();
    if args.list {
        return undo_list::list(env, &place, &calls, args.json).await;
    }
    let (undo, to) = target(&calls, args)?;
    let preview = undo.preview(&to).map_err(|error| problem(&error))?;
    print::note(&format!("undoing {to} and everything after it:"));
    show(&preview);
    let report = if preview.items.iter().all(|item| item.conflict.is_some()) {
        print::note("nothing to restore");
        UndoReport::nothing(&preview)
    } else if confirm::confirm(env, "Undo these changes?", args.yes)? {
        let rewound = restore(undo, &preview).map_err(|error| problem(&error))?;
        print_result(&rewound);
        UndoReport::of(to, rewound)
    } else {
        UndoReport::nothing(&preview)
    };
    if args.json { print::json(&report) } else { Ok(Exit::Done) }
}

impl UndoReport {
    pub(super) fn of(to: String, rewound: RewindResult) -> Self {
        let kept = rewound
            .kept
            .iter()
            .map(|(path, reason)| KeptFile { path: text(path), reason: reason_code(*reason) });
        Self {
            to,
            kept: kept.collect(),
            restored: rewound.restored.iter().map(text).collect(),
            not_restorable: rewound.not_restorable.iter().map(text).collect(),
            undo: Some(rewound.id),
        }
    }

    /// The result if nothing was restored.
    pub(super) fn nothing(preview: &Preview) -> Self {
        let kept = preview.items.iter().filter_map(|item| {
            item.conflict.map(|reason| KeptFile { path: text(&item.path), reason: reason_code(reason) })
        });
        Self {
            to: preview.to.clone(),
            undo: None,
            restored: Vec::new(),
            kept: kept.collect(),
            not_restorable: preview.not_restorable.iter().map(text).collect(),
        }
    }
}

/// Opens the undo stores of a workspace. Creates nothing.
pub(crate) fn stores(env: &ProcessEnv, directory: &Path) -> Result<UndoStores, Problem> {
    UndoStores::open(&env.folders, directory).map_err(|error| match error {
        ServiceError::Undo(error) => problem(&error),
        ServiceError::Directory { path, source } => {
            Problem::new(Exit::Setup, format!("could not open the directory: {source}"))
                .at(path.display().to_string())
        }
        other => other.into(),
    })
}

/// The tool call to undo.
fn target<'a>(
    calls: &[(&'a Undo, Vec<ChangedCall>)],
    args: &UndoArgs,
) -> Result<(&'a Undo, String), Problem> {
    if let Some(wanted) = &args.call {
        let known = |(_, calls): &&(&Undo, Vec<ChangedCall>)| calls.iter().any(|call| call.call == *wanted);
        let found = calls.iter().find(known).map(|(undo, _)| (*undo, wanted.clone()));
        return found.ok_or_else(|| {
            Problem::new(Exit::Failed, format!("no tool call `{wanted}` changed files here"))
                .hint("`lariat undo --list` lists all")
        });
    }
    let back = args.last.unwrap_or(1);
    if back == 0 {
        return Err(Problem::new(Exit::Usage, "`--last 0` undoes nothing").hint("use a number of 1 or more"));
    }
    let (undo, calls) = calls.iter().find(|(_, calls)| !calls.is_empty()).ok_or_else(|| {
        Problem::new(Exit::Failed, "nothing to undo: no tool call changed a file here")
            .hint("undo covers changes made by `lariat run` in this directory")
    })?;
    if back > calls.len() {
        print::note(&format!(
            "note: only {} changed files here",
            print::counted(calls.len(), "tool call", "tool calls")
        ));
    }
    let at = calls.len().saturating_sub(back);
    let to = calls.get(at).map(|call| call.call.clone()).unwrap_or_default();
    Ok((undo, to))
}

pub(super) fn show(preview: &Preview) {
    for item in &preview.items {
        let path = text(&item.path);
        let kept =
            item.conflict.map(|reason| format!(" (kept: {})", reason_text(reason))).unwrap_or_default();
        print::note(&format!("  {} {path}{kept}", verb(item)));
    }
    for path in &preview.not_restorable {
        print::note(&format!("  cannot restore {}", text(path)));
    }
}

fn verb(item: &Item) -> &'static str {
    match (&item.now, &item.then) {
        (Some(_), None) => "remove",
        (None, Some(_)) => "recreate",
        _ if item.is_mode_only() => "set the mode of",
        _ => "restore",
    }
}

pub(super) fn print_result(rewound: &RewindResult) {
    print::note(&format!(
        "{} restored; run `lariat undo {}` to undo this",
        print::counted(rewound.restored.len(), "file", "files"),
        rewound.id
    ));
    for (path, reason) in &rewound.kept {
        print::note(&format!("  kept {}: {}", text(path), reason_text(*reason)));
    }
    for path in &rewound.not_restorable {
        print::note(&format!("  could not restore {}", text(path)));
    }
}

/// A reason as a JSON value.
const fn reason_code(reason: Reason) -> &'static str {
    match reason {
        Reason::ChangedByUser => "changed_by_user",
        Reason::NotKept => "not_kept",
        Reason::Obstructed => "in_the_way",
        Reason::ChangedSincePreview => "changed_since_preview",
        Reason::ChangedMeanwhile => "changed_meanwhile",
        Reason::Refused => "refused",
        _ => "kept",
    }
}

pub(super) fn problem(error: &UndoError) -> Problem {
    let problem = Problem::new(Exit::Failed, error.to_string());
    match error {
        UndoError::Busy(_) => problem.hint("a session is working here; wait until it ends, or stop it"),
        _ => problem,
    }
}
