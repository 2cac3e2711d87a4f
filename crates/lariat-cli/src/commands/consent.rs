//! What a run says about a project that is not trusted: asked once on a terminal, one line otherwise.
//!
//! Owns the words and the memory of what was asked. Invariant: a run never leaves out what a project brings without saying so, and
//! uses it only after a yes to exactly this.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};

use lariat_guard::trust::{Brought, BroughtKind, Standing, TrustBook};
use lariat_guard::{Trust, display};
use lariat_service::{Place, ServiceError, Visit};

use super::{print, trust};
use crate::files;
use crate::problem::Problem;
use crate::world::World;

/// Names that are told of one kind; more are counted.
const NAMED: usize = 3;

/// Comes to a directory. Says what its project brings and is not used, or asks whether to trust it.
pub(crate) fn settle(world: &World, visit: &Visit, may_ask: bool) -> Result<Place, Problem> {
    let place = world.place(visit)?;
    let opened = &place.opened;
    if opened.trust == Trust::Trusted || visit.distrusting || opened.standing == Standing::Harmless {
        return Ok(place);
    }
    let memory = Memory::new(world);
    if !may_ask || !world.is_attended() || opened.manifest.is_none() || memory.knows(&place) {
        print::note(&format!("note: {}; {}", situation(&place), advice(&place)));
        return Ok(place);
    }
    let _ = writeln!(std::io::stderr(), "{}.", display::block(&capital(&situation(&place))));
    loop {
        let _ = write!(std::io::stderr(), "Trust this project? [t]rust, [n]ot now, [s]how: ");
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        match answer.trim().to_lowercase().as_str() {
            "t" | "trust" | "y" | "yes" => {
                opened.accept(&TrustBook::new(world.folders.trust())).map_err(ServiceError::from)?;
                // Opened again, so that it uses what was accepted, and nothing that came since.
                return world.place(visit);
            }
            "s" | "show" => trust::show(world, &place),
            "n" | "no" | "not now" => break,
            // The terminal is gone.
            _ if !read.is_ok_and(|read| read > 0) => break,
            _ => {}
        }
    }
    memory.remember(&place)?;
    print::note("not trusted; you can do it later: lariat trust");
    Ok(place)
}

/// What is the matter with a project that is not trusted, in one line.
pub(crate) fn situation(place: &Place) -> String {
    let brings = brings(&place.opened.brings());
    match &place.opened.standing {
        Standing::Changed(differences) => {
            let paths: Vec<&str> = differences.iter().map(|one| one.path.as_str()).collect();
            format!(
                "this project changed since you trusted it ({}), so Lariat does not use its {brings}",
                some(&paths)
            )
        }
        _ if place.opened.manifest.is_none() => {
            "this project cannot be trusted as it is, so Lariat uses nothing of what it brings".to_owned()
        }
        _ => format!("this project is not trusted, so Lariat does not use its {brings}"),
    }
}

/// What to do about it.
pub(crate) fn advice(place: &Place) -> &'static str {
    match &place.opened.standing {
        _ if place.opened.manifest.is_none() => "see why: lariat trust",
        Standing::Changed(_) => "see what changed and trust it again: lariat trust",
        _ => "review and trust it: lariat trust",
    }
}

/// What a project brings, by kind.
fn brings(brought: &[Brought]) -> String {
    let of = |kind: BroughtKind| brought.iter().filter(move |one| one.kind == kind);
    let mut said = Vec::new();
    let files: Vec<&str> = of(BroughtKind::Instructions).map(|one| one.file.as_str()).collect();
    if !files.is_empty() {
        said.push(format!("instructions ({})", some(&files)));
    }
    for (kind, one, many) in [
        (BroughtKind::Hook, "hook", "hooks"),
        (BroughtKind::AllowRule, "allow rule", "allow rules"),
        (BroughtKind::Server, "tool server", "tool servers"),
        (BroughtKind::Variable, "variable", "variables"),
        (BroughtKind::Setting, "setting", "settings"),
        (BroughtKind::Git, "line of git configuration", "lines of git configuration"),
        (BroughtKind::File, "other file", "other files"),
    ] {
        let count = of(kind).count();
        if count > 0 {
            said.push(print::counted(count, one, many));
        }
    }
    match said.as_slice() {
        [] => "configuration".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn some(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Which projects the person was asked about, and with what in them.
struct Memory {
    file: std::path::PathBuf,
    asked: BTreeMap<String, String>,
}

impl Memory {
    fn new(world: &World) -> Self {
        let file = world.folders.state.join("asked.json");
        // What cannot be read is asked again.
        let asked = files::text(&file).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { file, asked }
    }

    fn knows(&self, place: &Place) -> bool {
        self.asked.get(&place.opened.identity.path) == Some(&place.opened.fingerprint())
    }

    fn remember(mut self, place: &Place) -> Result<(), Problem> {
        self.asked.insert(place.opened.identity.path.clone(), place.opened.fingerprint());
        files::write_private(&self.file, &serde_json::to_string_pretty(&self.asked).unwrap_or_default())
    }
}
