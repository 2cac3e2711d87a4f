use std::collections::{BTreeMap, BTreeSet};

use lariat_test::SeededRandom;

use super::super::recording::{Change, Op, ROOT, Recording};
use super::{Disk, Image};

/// Calls one after another, each on its own line.
fn recording(changes: &[Change]) -> Recording {
    let op = |(at, change): (usize, &Change)| Op { begun: at, ended: at, change: change.clone() };
    Recording { ops: changes.iter().enumerate().map(op).collect() }
}

fn file(name: &str, node: usize) -> Change {
    Change::Enter { folder: ROOT, name: name.to_owned(), node, is_folder: false }
}

fn write(offset: u64, byte: u8, count: usize) -> Change {
    Change::Write { node: 1, offset, bytes: vec![byte; count] }
}

/// All images at the end that a thousand seeds produce.
fn images(changes: &[Change]) -> BTreeSet<BTreeMap<String, Vec<u8>>> {
    let recording = recording(changes);
    let disk = Disk::new(&recording);
    (0..1_000).map(|seed| disk.image(usize::MAX, &mut SeededRandom::new(seed)).files).collect()
}

fn one(name: &str, bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([(name.to_owned(), bytes.to_vec())])
}

#[test]
fn synced_data_is_in_every_image() {
    let all = images(&[file("a", 1), write(0, b'x', 3), Change::Sync(1)]);
    assert_eq!(all, BTreeSet::from([one("a", b"xxx")]));
}

#[test]
fn unsynced_writes_are_present_missing_or_torn() {
    let all = images(&[file("a", 1), write(0, b'x', 3), Change::Sync(1), write(3, b'y', 2)]);
    let wanted = [&b"xxx"[..], b"xxxy", b"xxxyy", b"xxx\0\0", b"xxxy\0"];
    assert_eq!(all, wanted.map(|bytes| one("a", bytes)).into());
}

#[test]
fn later_writes_may_be_present_without_earlier_ones() {
    let all = images(&[file("a", 1), Change::Sync(1), write(0, b'x', 2), write(2, b'y', 2)]);
    assert!(all.contains(&one("a", b"\0\0yy")), "{all:?}");
}

#[test]
fn a_long_write_is_torn_between_sectors() {
    let all = images(&[file("a", 1), Change::Sync(1), write(500, b'x', 600), write(1100, b'y', 1)]);
    let mut middle = vec![0; 512];
    middle.extend([b'x'; 512]);
    assert!(all.iter().any(|files| files["a"].starts_with(&middle)), "no image has only the middle");
}

#[test]
fn a_sync_keeps_only_what_was_done_when_it_began() {
    let mut recording = recording(&[file("a", 1), Change::Sync(1), write(0, b'x', 1)]);
    recording.ops.push(Op { begun: 1, ended: 5, change: Change::Sync(1) });
    let disk = Disk::new(&recording);
    assert!((0..100).any(|seed| disk.image(9, &mut SeededRandom::new(seed)).files == one("a", b"")));
}

#[test]
fn a_rename_needs_a_sync_of_its_directory() {
    let moved = Change::Move { from: (ROOT, "a".to_owned()), to: (ROOT, "b".to_owned()), node: 1 };
    let start = [file("a", 1), write(0, b'x', 1), Change::Sync(1), moved];
    assert_eq!(images(&start), [one("a", b"x"), one("b", b"x")].into());
    let synced = [&start[..], &[Change::Sync(1)]].concat();
    assert_eq!(images(&synced), [one("a", b"x"), one("b", b"x")].into(), "syncing the file does not help");
    let synced = [&start[..], &[Change::Sync(ROOT)]].concat();
    assert_eq!(images(&synced), [one("b", b"x")].into());
}

#[test]
fn a_file_in_an_unsynced_directory_may_be_missing() {
    let folder = Change::Enter { folder: ROOT, name: "f".to_owned(), node: 2, is_folder: true };
    let inside = Change::Enter { folder: 2, name: "a".to_owned(), node: 1, is_folder: false };
    let all = images(&[folder, inside, Change::Sync(1), Change::Sync(2)]);
    assert_eq!(all, [BTreeMap::new(), one("f/a", b"")].into());
}

#[test]
fn without_a_power_loss_everything_is_present() {
    let gone = Change::Leave { folder: ROOT, name: "b".to_owned() };
    let recording = recording(&[
        file("a", 1),
        file("b", 2),
        write(0, b'x', 9),
        Change::Truncate { node: 1, length: 2 },
        gone,
    ]);
    let whole = Disk::new(&recording).whole();
    assert_eq!(whole, Image { folders: Vec::new(), files: one("a", b"xx") });
}
