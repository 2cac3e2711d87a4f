//! Tests of claims between processes. Two tables of one directory stand for two processes: locks belong to open files.

#![expect(clippy::disallowed_methods, reason = "a test's own directory")]

use std::path::Path;

use super::*;
use crate::claims::Claims;

/// A directory of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("lariat-claims-{name}-{}", std::process::id())));
        let _ = std::fs::remove_dir_all(&folder.0);
        std::fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

#[test]
fn file_belongs_to_the_session_of_another_process_until_that_session_ends() {
    let directory = Folder::new("process");
    let (one, other) = (Claims::shared(directory.path()), Claims::shared(directory.path()));
    drop(one.take("a", paths(&["/w/x", "/w/y"])).unwrap());
    let taken = other.take("b", paths(&["/w/z", "/w/y"])).unwrap_err();
    assert_eq!((taken.path, taken.session.as_str()), (PathBuf::from("/w/y"), "a"));
    // All or nothing: `z` was not claimed.
    drop(one.take("a", paths(&["/w/z"])).unwrap());
    drop(one);
    drop(other.take("b", paths(&["/w/y", "/w/z"])).unwrap());
    assert!(!directory.path().join("a.live").exists(), "the file of a session that ended is removed");
}

#[test]
fn claims_of_a_killed_process_do_not_apply() {
    let directory = Folder::new("killed");
    let (killed, other) = (Claims::shared(directory.path()), Claims::shared(directory.path()));
    drop(killed.take("a", paths(&["/w/x"])).unwrap());
    drop(killed);
    // A killed process leaves its file without a lock.
    let left = directory.path().join("a.live");
    std::fs::write(&left, "").unwrap();
    drop(other.take("b", paths(&["/w/x"])).unwrap());
    assert!(!left.exists());
}

#[test]
fn released_session_gives_up_its_files() {
    let directory = Folder::new("released");
    let (one, other) = (Claims::shared(directory.path()), Claims::shared(directory.path()));
    drop(one.take("a", paths(&["/w/x"])).unwrap());
    one.release("a");
    drop(other.take("b", paths(&["/w/x"])).unwrap());
    one.take("a", paths(&["/w/x"])).unwrap_err();
}

#[test]
fn lease_ends_claims_of_a_living_session() {
    let directory = Folder::new("lease");
    let claims = |lease| SharedClaims::new(directory.path().to_owned(), lease);
    let (one, other) = (claims(Duration::ZERO), claims(Duration::ZERO));
    one.take("a", &paths(&["/w/x"])).unwrap();
    other.take("b", &paths(&["/w/x"])).unwrap();
    let patient = claims(Duration::from_secs(60));
    patient.take("c", &paths(&["/w/x"])).unwrap_err();
}

#[test]
fn table_that_cannot_be_used_stops_no_call() {
    let directory = Folder::new("unusable");
    std::fs::write(directory.path().join("claims.json"), "not JSON").unwrap();
    let claims = Claims::shared(directory.path());
    drop(claims.take("a", paths(&["/w/x"])).unwrap());
    let nowhere = Claims::shared(directory.path().join("claims.json"));
    drop(nowhere.take("a", paths(&["/w/x"])).unwrap());
}
