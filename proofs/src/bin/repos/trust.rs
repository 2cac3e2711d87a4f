//! The second half of the proof: trust applies to one directory with exactly its current bytes.
//!
//! Each repository is trusted as it is. Then every file that the trust covers is changed, one byte at a time,
//! and restored; and the whole repository is copied, moved, replaced, linked to and given a work tree. Each
//! change must require trust again and name the file; restored contents must be trusted again without asking.

use std::path::{Path, PathBuf};

use lariat::local::LoadedWorkspace;
use lariat::permission::Trust;
use lariat::permission::trust::{TrustStatus, TrustStore};

use super::mistake::{self, Mistake};
use super::opening;
use super::repository::{Layout, copy};

/// Results of this half.
#[derive(Debug, Default)]
pub(crate) struct TrustReport {
    pub(crate) faults: Vec<String>,
    /// Repositories that could be trusted.
    pub(crate) trusted: usize,
    /// Repositories that cannot be trusted, because their contents cannot be determined.
    pub(crate) unlistable: usize,
    pub(crate) files: usize,
    pub(crate) changes: usize,
    pub(crate) moves: usize,
}

/// One repository under test.
struct Case<'a> {
    layout: &'a Layout,
    root: PathBuf,
    book: TrustStore,
    mistake: Option<Mistake>,
}

pub(crate) fn run(layout: &Layout, number: usize, mistake: Option<Mistake>) -> Result<TrustReport, String> {
    let root = layout.repository(number);
    let book = TrustStore::new(layout.base.join(format!("books/{number}/trust.json")));
    let case = Case { layout, root, book, mistake };
    let mut done = TrustReport::default();
    // A repository that cannot be opened cannot be trusted, either.
    let Ok(opened) = case.open(&case.root) else {
        done.unlistable += 1;
        return Ok(done);
    };
    let Some(manifest) = opened.manifest.clone() else {
        done.unlistable += 1;
        let forced = opening(layout, &case.root, &case.book)?
            .with_trust_once()
            .open()
            .map_err(|error| error.to_string())?;
        if opened.accept(&case.book).is_ok() || forced.trust == Trust::Trusted {
            done.faults.push("is trusted although its contents cannot be determined".to_owned());
        }
        return Ok(done);
    };
    opened.accept(&case.book).map_err(|error| error.to_string())?;
    // An unsupported hook stops every run once it would take effect.
    if case.open(&case.root).is_err() {
        done.unlistable += 1;
        return Ok(done);
    }
    done.trusted += 1;
    case.must_be_trusted("unchanged", &mut done)?;
    for (path, brings) in manifest.files() {
        done.files += 1;
        if let Some(link) = path.strip_suffix(" (link)") {
            case.repoint(link, path, &mut done)?;
        } else {
            case.change(path, &brings.text, &mut done)?;
        }
    }
    case.must_be_trusted("restored", &mut done)?;
    case.check_moved_copies(&mut done)?;
    case.must_be_trusted("moved back", &mut done)?;
    Ok(done)
}

fn words(error: std::io::Error) -> String {
    error.to_string()
}

impl Case<'_> {
    fn open(&self, path: &Path) -> Result<LoadedWorkspace, String> {
        let mut opened = opening(self.layout, path, &self.book)?.open().map_err(|error| error.to_string())?;
        let standing = mistake::standing(&opened, &self.book, self.mistake)?;
        if standing.is_trusted() && opened.manifest.is_some() {
            opened.trust = Trust::Trusted;
        }
        opened.standing = standing;
        Ok(opened)
    }

    fn must_be_trusted(&self, when: &str, done: &mut TrustReport) -> Result<(), String> {
        let opened = self.open(&self.root)?;
        if opened.standing != TrustStatus::Trusted || opened.trust != Trust::Trusted {
            done.faults.push(format!("requires trust again, {when}: {:?}", opened.standing));
        }
        Ok(())
    }

    /// Checks that the repository requires trust again and names the file.
    fn must_be_asked(&self, file: &str, how: &str, done: &mut TrustReport) -> Result<(), String> {
        done.changes += 1;
        // A change that makes settings unreadable prevents opening, which is also correct.
        let Ok(opened) = self.open(&self.root) else { return Ok(()) };
        let named = match &opened.standing {
            TrustStatus::Changed(differences) => differences.iter().any(|one| one.path == file),
            // If the contents cannot be determined any more, the problem names the file.
            _ => opened.manifest.is_none() && !opened.problems.is_empty(),
        };
        if !named || opened.trust != Trust::Untrusted {
            done.faults.push(format!("{file} changed ({how}) and it is {:?}", opened.standing));
        }
        Ok(())
    }

    fn change(&self, file: &str, counting: &str, done: &mut TrustReport) -> Result<(), String> {
        let path = self.root.join(file);
        let before = std::fs::read(&path).map_err(words)?;
        for at in places(&before, counting) {
            let mut bytes = before.clone();
            match bytes.get_mut(at) {
                Some(byte) => *byte ^= 1,
                None => bytes.push(b'x'),
            }
            std::fs::write(&path, bytes).map_err(words)?;
            self.must_be_asked(file, &format!("byte {at}"), done)?;
        }
        std::fs::write(&path, before).map_err(words)
    }

    /// Changes the target of a link.
    fn repoint(&self, link: &str, file: &str, done: &mut TrustReport) -> Result<(), String> {
        let path = self.root.join(link);
        let target = std::fs::read_link(&path).map_err(words)?;
        std::fs::remove_file(&path).map_err(words)?;
        std::os::unix::fs::symlink(target.join("elsewhere"), &path).map_err(words)?;
        self.must_be_asked(file, "another target", done)?;
        std::fs::remove_file(&path).map_err(words)?;
        std::os::unix::fs::symlink(target, &path).map_err(words)
    }

    /// Copies, moves, replaces and links the repository, and adds a work tree: none of these is trusted.
    fn check_moved_copies(&self, done: &mut TrustReport) -> Result<(), String> {
        let beside = |name: &str| self.root.with_file_name(name).join("project");
        let (copied, moved, tree) = (beside("copy"), beside("moved"), beside("tree"));
        for place in [&copied, &moved, &tree] {
            std::fs::create_dir_all(place.parent().unwrap_or(place)).map_err(words)?;
        }
        copy(&self.root, &copied).map_err(words)?;
        self.must_be_foreign(&copied, "a copy", done)?;
        copy(&self.root, &tree).map_err(words)?;
        let git = tree.join(".git");
        if git.is_dir() && !git.is_symlink() {
            std::fs::remove_dir_all(&git).map_err(words)?;
        } else if git.symlink_metadata().is_ok() {
            std::fs::remove_file(&git).map_err(words)?;
        }
        std::fs::write(&git, format!("gitdir: {}\n", self.root.join(".git").display())).map_err(words)?;
        self.must_be_foreign(&tree, "a work tree", done)?;
        std::fs::rename(&self.root, &moved).map_err(words)?;
        self.must_be_foreign(&moved, "moved", done)?;
        std::os::unix::fs::symlink(&copied, &self.root).map_err(words)?;
        self.must_be_foreign(&self.root, "a link in its place", done)?;
        std::fs::remove_file(&self.root).map_err(words)?;
        std::fs::rename(&copied, &self.root).map_err(words)?;
        self.must_be_foreign(&self.root, "another in its place", done)?;
        std::fs::rename(&self.root, &copied).map_err(words)?;
        std::fs::rename(&moved, &self.root).map_err(words)
    }

    fn must_be_foreign(&self, path: &Path, what: &str, done: &mut TrustReport) -> Result<(), String> {
        done.moves += 1;
        let opened = self.open(path)?;
        if opened.trust != Trust::Untrusted || opened.standing.is_trusted() {
            done.faults.push(format!("{what} is trusted"));
        }
        Ok(())
    }
}

/// The bytes of a file to change, one at a time. If only a part of the file is covered, a byte of that part.
fn places(bytes: &[u8], counting: &str) -> Vec<usize> {
    let text = String::from_utf8_lossy(bytes);
    if !bytes.is_empty() && !text.starts_with(counting) {
        let value = counting.lines().last().and_then(|line| line.rsplit('=').next()).map(str::trim);
        let at = value.filter(|value| !value.is_empty()).and_then(|value| text.rfind(value));
        return at.into_iter().collect();
    }
    let mut places = vec![0, bytes.len() / 2, bytes.len().saturating_sub(1)];
    places.dedup();
    places
}
