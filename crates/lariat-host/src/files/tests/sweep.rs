use std::ffi::OsString;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, statat};

use super::*;

fn folder(fixture: &Fixture) -> OwnedFd {
    rustix::fs::open(fixture.at("."), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

fn stat(fixture: &Fixture, name: &str) -> Stat {
    statat(folder(fixture), name, AtFlags::SYMLINK_NOFOLLOW).unwrap()
}

#[test]
fn sweep_removes_only_leftovers_of_killed_writes() {
    let fixture = Fixture::new();
    let put = |name: &OsString, text: &str| fixture.put(name.to_str().unwrap(), text);
    let old = Some(blake3::hash(b"old"));
    let draft = temporary::draft_name().unwrap();
    put(&draft, "hal");
    fixture.put("made", "new");
    let made = stat(&fixture, "made");
    // The writer was killed before the exchange, and after it.
    let own = temporary::exchange_name(&made, old).unwrap();
    fs::rename(fixture.at("made"), fixture.at(own.to_str().unwrap())).unwrap();
    let replaced = temporary::exchange_name(&made, old).unwrap();
    put(&replaced, "old");
    // Another program wrote at the same time; the replaced content is unknown; a patch set the file aside.
    let theirs = temporary::exchange_name(&made, old).unwrap();
    put(&theirs, "theirs");
    let unknown = temporary::exchange_name(&made, None).unwrap();
    put(&unknown, "old");
    let aside = temporary::aside_name().unwrap();
    put(&aside, "old");
    let other = OsString::from(".lariat-notes");
    put(&other, "mine");
    let all: Vec<OsString> =
        [&draft, &own, &replaced, &theirs, &unknown, &aside, &other].map(Clone::clone).to_vec();
    let left = || all.iter().filter(|name| fixture.at(name.to_str().unwrap()).exists()).collect::<Vec<_>>();

    let writer = temporary::lock_shared(&folder(&fixture)).unwrap();
    temporary::sweep(&folder(&fixture), &all);
    assert_eq!(left().len(), all.len(), "a writer is active");
    drop(writer);
    temporary::sweep(&folder(&fixture), &all);
    assert_eq!(left(), [&theirs, &unknown, &aside, &other]);
    let shown: Vec<bool> = all.iter().map(|name| temporary::is_temporary(name)).collect();
    assert_eq!(shown, [true, true, true, true, true, true, false]);
}

#[test]
fn write_succeeds_while_the_directory_is_locked() {
    let fixture = Fixture::new();
    fixture.put("a", "old");
    let held = folder(&fixture);
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let known = fixture.known("a");
    fixture.workspace.write("a", b"new", &WriteCondition::Unchanged(known)).unwrap();
    assert_eq!(fixture.content("a"), "new");
    assert_eq!(fixture.left_behind(), Vec::<String>::new());
}
