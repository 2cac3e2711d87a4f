//! `lariat memory`: shows and changes what Lariat remembers about a project, and searches earlier sessions.

use lariat_service::past_sessions::PastSessions;
use lariat_service::project_memory::{
    MAX_MEMORY_CHARS, MemoryEntry, MemoryKind, MemoryStatus, ProjectMemory,
};
use serde::Serialize;

use super::CommandResult;
use super::print::{self, Column};
use crate::args::memory::{
    MemoryAddArgs, MemoryArgs, MemoryCommand, MemoryIdsArgs, MemoryListArgs, MemorySearchArgs, MemoryShowArgs,
};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Maximum characters of a text in a table.
const TEXT: usize = 100;

#[derive(Serialize)]
struct MemoryListing {
    /// Whether sessions in this project use the memory.
    enabled: bool,
    file: String,
    entries: Vec<MemoryEntry>,
}

#[derive(Serialize)]
struct MemoryFile {
    file: String,
    enabled: bool,
}

pub(crate) async fn memory(env: &ProcessEnv, args: MemoryArgs) -> CommandResult {
    let place = env.load_project(&env.load_options(None))?;
    let memory = ProjectMemory::new(env.folders.memory(place.opened.territory.root()));
    let is_set = place.settings.memory.enabled;
    match args.command {
        MemoryCommand::List(args) => list(&memory, &args, is_set),
        MemoryCommand::Show(args) => show(&memory, &args),
        MemoryCommand::Add(args) => add(&memory, &args),
        MemoryCommand::Approve(args) => change(&memory, &args, EntryChange::Approve),
        MemoryCommand::Done(args) => change(&memory, &args, EntryChange::Finish),
        MemoryCommand::Remove(args) => change(&memory, &args, EntryChange::Remove),
        MemoryCommand::Search(args) => {
            let service = env.service(&place).await?;
            let past = PastSessions::new(service.archive(), place.path().display().to_string());
            search(&past, &args).await
        }
        MemoryCommand::Path(args) => {
            let file = memory.path().display().to_string();
            match args.json {
                true => print::json(&MemoryFile { file, enabled: is_set && !memory.load()?.off }),
                false => {
                    print::line(&file);
                    Ok(Exit::Done)
                }
            }
        }
        MemoryCommand::Off(args) => switch(&memory, true, args.json, is_set),
        MemoryCommand::On(args) => switch(&memory, false, args.json, is_set),
    }
}

fn list(memory: &ProjectMemory, args: &MemoryListArgs, is_set: bool) -> CommandResult {
    let content = memory.load()?;
    let enabled = is_set && !content.off;
    let kind = args.kind.map(MemoryKind::from);
    let mut entries = content.entries;
    entries.retain(|entry| kind.is_none_or(|kind| entry.kind == kind));
    entries.retain(|entry| !args.proposed || entry.status == MemoryStatus::Proposed);
    if args.json {
        let file = memory.path().display().to_string();
        return print::json(&MemoryListing { enabled, file, entries });
    }
    if !is_set {
        print::note("memory is off: the setting `memory.enabled` is false");
    } else if !enabled {
        print::note("memory is off for this project; turn it on with `lariat memory on`");
    }
    if entries.is_empty() {
        print::note(match (args.proposed, kind) {
            (true, _) => "no proposals wait for you",
            (false, Some(_)) => "no entries of this kind",
            (false, None) => "no entries; add a fact with `lariat memory add \"…\"`",
        });
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    let columns = [
        Column::whole("ID"),
        Column::whole("KIND"),
        Column::whole("STATUS"),
        Column::whole("FROM"),
        Column::text("TEXT"),
    ];
    print::out(&print::table(&columns, &rows));
    if entries.iter().any(|entry| entry.status == MemoryStatus::Proposed) {
        print::note(
            "later sessions receive a proposal only after you approve it: read it with `lariat memory show ID`, then run `lariat memory approve ID`",
        );
    }
    Ok(Exit::Done)
}

fn row(entry: &MemoryEntry) -> Vec<String> {
    vec![
        entry.id.clone(),
        entry.kind.name().to_owned(),
        entry.status.name().to_owned(),
        entry.source.name().to_owned(),
        print::abbreviate(&entry.text, TEXT),
    ]
}

fn show(memory: &ProjectMemory, args: &MemoryShowArgs) -> CommandResult {
    let entries = memory.load()?.entries;
    let entry = entries.into_iter().find(|entry| entry.id == args.id).ok_or_else(|| unknown(&args.id))?;
    if args.json {
        return print::json(&entry);
    }
    print::field("id", &entry.id);
    print::field("kind", entry.kind.name());
    print::field("status", entry.status.name());
    print::field("from", entry.source.name());
    if let Some(session) = &entry.session_id {
        print::field("session", session.as_str());
    }
    print::field("added", &print::time(entry.at));
    print::field("text", &entry.text);
    Ok(Exit::Done)
}

fn add(memory: &ProjectMemory, args: &MemoryAddArgs) -> CommandResult {
    let text = args.text.join(" ");
    if text.trim().is_empty() {
        return Err(Problem::new(Exit::Usage, "the text is empty"));
    }
    if text.chars().count() > MAX_MEMORY_CHARS {
        let cause = format!("the text is longer than {MAX_MEMORY_CHARS} characters");
        return Err(
            Problem::new(Exit::Usage, cause).hint("put long instructions into CLAUDE.md or AGENTS.md")
        );
    }
    let entry = memory.add(args.kind.into(), &text)?;
    if args.json {
        return print::json(&entry);
    }
    print::line(&format!("added {} {}", entry.kind.name(), entry.id));
    Ok(Exit::Done)
}

/// What to do with entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryChange {
    Approve,
    Finish,
    Remove,
}

fn change(memory: &ProjectMemory, args: &MemoryIdsArgs, change: EntryChange) -> CommandResult {
    let known = memory.load()?.entries;
    for id in &args.ids {
        let entry = known.iter().find(|entry| entry.id == *id).ok_or_else(|| unknown(id))?;
        if change == EntryChange::Finish && entry.kind != MemoryKind::Goal {
            return Err(Problem::new(Exit::Usage, format!("`{id}` is not a goal"))
                .hint(format!("run `lariat memory remove {id}` to remove it")));
        }
    }
    let (entries, what) = match change {
        EntryChange::Approve => (memory.set_status(&args.ids, MemoryStatus::Approved)?, "approved"),
        EntryChange::Finish => (memory.set_status(&args.ids, MemoryStatus::Done)?, "done"),
        EntryChange::Remove => (memory.remove(&args.ids)?, "removed"),
    };
    if args.json {
        return print::json(&entries);
    }
    for entry in &entries {
        print::line(&format!("{what}: {}", entry.text));
    }
    Ok(Exit::Done)
}

async fn search(past: &PastSessions, args: &MemorySearchArgs) -> CommandResult {
    let found = past.search(&args.words.join(" "), None).await?;
    if args.json {
        return print::json(&found);
    }
    if found.is_empty() {
        print::note(
            "no session of this directory contains these words; `lariat sessions list WORDS` searches all",
        );
    }
    for session in &found {
        print::line(&format!("{} {} {}", session.session_id, print::time(session.at), session.name));
        session
            .passages
            .iter()
            .for_each(|passage| print::line(&format!("  {}: {}", passage.by, passage.text)));
    }
    Ok(Exit::Done)
}

fn switch(memory: &ProjectMemory, off: bool, json: bool, is_set: bool) -> CommandResult {
    memory.set_off(off)?;
    if json {
        let file = memory.path().display().to_string();
        return print::json(&MemoryFile { file, enabled: is_set && !off });
    }
    print::line(if off { "memory is off for this project" } else { "memory is on for this project" });
    if !off && !is_set {
        print::note("it stays off until the setting `memory.enabled` is true");
    }
    Ok(Exit::Done)
}

fn unknown(id: &str) -> Problem {
    Problem::new(Exit::Usage, format!("no entry `{id}`")).hint("run `lariat memory list` to see all entries")
}
