use std::ffi::OsString;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, statat};

use super::*;

fn folder(ground: &Ground) -> OwnedFd {
    rustix::fs::open(ground.at("."), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

fn stat(ground: &Ground, name: &str) -> Stat {
    statat(folder(ground), name, AtFlags::SYMLINK_NOFOLLOW).unwrap()
}

#[test]
fn what_a_killed_write_left_is_swept_and_nothing_else() {
    let ground = Ground::new();
    let put = |name: &OsString, text: &str| ground.put(name.to_str().unwrap(), text);
    let old = Some(blake3::hash(b"old"));
    let draft = temporary::draft().unwrap();
    put(&draft, "hal");
    ground.put("made", "new");
    let made = stat(&ground, "made");
    // The writer was killed before the exchange, and after it.
    let own = temporary::exchanged(&made, old).unwrap();
    fs::rename(ground.at("made"), ground.at(own.to_str().unwrap())).unwrap();
    let replaced = temporary::exchanged(&made, old).unwrap();
    put(&replaced, "old");
    // Another program wrote at the same time; the replaced content is unknown; a patch set the file aside.
    let theirs = temporary::exchanged(&made, old).unwrap();
    put(&theirs, "theirs");
    let unknown = temporary::exchanged(&made, None).unwrap();
    put(&unknown, "old");
    let aside = temporary::aside().unwrap();
    put(&aside, "old");
    let other = OsString::from(".lariat-notes");
    put(&other, "mine");
    let all: Vec<OsString> =
        [&draft, &own, &replaced, &theirs, &unknown, &aside, &other].map(Clone::clone).to_vec();
    let left = || all.iter().filter(|name| ground.at(name.to_str().unwrap()).exists()).collect::<Vec<_>>();

    let writer = temporary::hold(&folder(&ground)).unwrap();
    temporary::sweep(&folder(&ground), &all);
    assert_eq!(left().len(), all.len(), "a writer is active");
    drop(writer);
    temporary::sweep(&folder(&ground), &all);
    assert_eq!(left(), [&theirs, &unknown, &aside, &other]);
    let shown: Vec<bool> = all.iter().map(|name| temporary::is_temporary(name)).collect();
    assert_eq!(shown, [true, true, true, true, true, true, false]);
}

#[test]
fn a_write_goes_on_while_somebody_holds_the_directory() {
    let ground = Ground::new();
    ground.put("a", "old");
    let held = folder(&ground);
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let known = ground.known("a");
    ground.workspace.write("a", b"new", &Expected::Unchanged(known)).unwrap();
    assert_eq!(ground.content("a"), "new");
    assert_eq!(ground.left_behind(), Vec::<String>::new());
}
