//! The families of hostile repositories, as tables.
//!
//! - `settings`: hostile workspace settings, in each of the settings files.
//! - `git`: configuration that makes git start a program, or read other places.
//! - `files`: MCP servers, variables, instructions, skills, other programs' files, names that look like ours.
//! - `odd`: links, and files that cannot be read.

mod files;
mod git;
mod links_and_pipes;
mod settings;

use lariat_test::SeededRandom;

use super::repository::{Item, Repository};

/// All repositories of the tables.
pub(crate) fn all() -> Vec<Repository> {
    let mut all = settings::all();
    all.extend(git::all());
    all.extend(files::all());
    all.extend(links_and_pipes::all());
    all
}

/// Returns `count` repositories: those of the tables, then random combinations of them.
pub(crate) fn sample(count: usize, seed: u64) -> Vec<Repository> {
    let singles = all();
    let mut chosen: Vec<Repository> = singles.iter().take(count).cloned().collect();
    let mut random = SeededRandom::new(seed);
    while chosen.len() < count && !singles.is_empty() {
        let parts: Vec<&Repository> =
            (0..2 + random.index(3)).filter_map(|_| random.pick(&singles)).collect();
        chosen.push(mixture(&parts));
    }
    chosen
}

/// Combines several repositories, as far as their files do not collide.
fn mixture(parts: &[&Repository]) -> Repository {
    let mut mixed = Repository::new("", []);
    let mut names = Vec::new();
    for part in parts {
        let clash = |one: &Item, other: &Item| {
            let (one, other) = (one.path(), other.path());
            let holds = |folder: &str, path: &str| {
                path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            };
            one == other || holds(one, other) || holds(other, one)
        };
        let is_free = !part.items.iter().any(|item| mixed.items.iter().any(|other| clash(item, other)));
        if is_free {
            names.push(part.name.as_str());
            mixed.items.extend(part.items.iter().cloned());
            mixed.is_unreadable |= part.is_unreadable;
        }
    }
    mixed.name = format!("mixed: {}", names.join(" + "));
    mixed
}
