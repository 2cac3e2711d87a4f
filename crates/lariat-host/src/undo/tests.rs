//! Tests checkpoints and rewinds in real directories.
#![expect(clippy::disallowed_methods, reason = "tests check the files without going through the workspace")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::files::Workspace;

struct Fixture {
    base: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("lariat-undo-unit-{}-{count}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        fs::create_dir_all(base.join("ws/d")).unwrap();
        fs::create_dir_all(base.join("out")).unwrap();
        fs::write(base.join("out/canary"), "outside").unwrap();
        fs::write(base.join("ws/a"), "one").unwrap();
        fs::write(base.join("ws/d/b"), "two").unwrap();
        Self { base }
    }

    fn open(&self) -> Undo {
        self.with(UndoLimits::default())
    }

    fn with(&self, limits: UndoLimits) -> Undo {
        Undo::open(&Workspace::open(self.base.join("ws")).unwrap(), self.base.join("undo"), limits).unwrap()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base.join("ws").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    /// Makes changes as a tool call.
    fn call(&self, undo: &Undo, id: &str, change: impl FnOnce()) {
        undo.begin_call(id).unwrap();
        change();
        undo.end_call(id).unwrap();
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

fn back(undo: &Undo, call: &str, conflicts: Conflicts) -> RewindResult {
    undo.rewind(&undo.preview(call).unwrap(), conflicts).unwrap()
}

#[test]
fn calls_of_two_loops_with_the_same_id_are_undone_separately() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    let begin = |loop_id: &str| undo.begin_call_of_loop("c1", loop_id, None).unwrap();
    let first = begin("s.a.1");
    fixture.put("a", "first");
    // The second begins before the first ends, as in two branches.
    let second = begin("s.b.2");
    fixture.put("a", "second");
    undo.end_call(&second).unwrap();
    undo.end_call(&first).unwrap();
    assert_eq!((first.as_str(), second.as_str()), ("c1", "c1@s.b.2"));
    assert_eq!(undo.changes(&second).unwrap().len(), 1);
    drop(undo);
    let undo = fixture.open();
    let of_loop = |call: &str| {
        let by = ChangeAuthor::Call(call.to_owned());
        undo.list().into_iter().find(|summary| summary.by == by).and_then(|summary| summary.loop_id)
    };
    assert_eq!((of_loop(&first).as_deref(), of_loop(&second).as_deref()), (Some("s.a.1"), Some("s.b.2")));
    back(&undo, &second, Conflicts::Keep);
    assert_eq!(fixture.text("a").as_deref(), Some("first"), "only the second call is undone");
    // Without a loop, the id alone decides.
    assert_eq!(undo.begin_call_of_loop("c2", "", None).unwrap(), "c2");
}

#[test]
fn undoes_and_redoes_deletions_changes_and_additions() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    fs::set_permissions(fixture.at("a"), fs::Permissions::from_mode(0o640)).unwrap();
    fixture.call(&undo, "1", || {
        fs::remove_dir_all(fixture.at("d")).unwrap();
        fixture.put("a", "changed");
        fs::set_permissions(fixture.at("a"), fs::Permissions::from_mode(0o755)).unwrap();
        fixture.put("new", "new");
    });
    let rewound = back(&undo, "1", Conflicts::Keep);
    assert!(rewound.kept.is_empty(), "{rewound:?}");
    assert_eq!((fixture.text("a").as_deref(), fixture.text("d/b").as_deref()), (Some("one"), Some("two")));
    assert_eq!(fixture.text("new"), None);
    assert_eq!(fs::metadata(fixture.at("a")).unwrap().permissions().mode() & 0o777, 0o640);
    back(&undo, &rewound.id, Conflicts::Keep);
    assert_eq!((fixture.text("a").as_deref(), fixture.text("d/b")), (Some("changed"), None));
    let changed: Vec<_> = undo.changes("1").unwrap().iter().map(|change| change.path.to_string()).collect();
    assert_eq!(changed, ["a", "d", "d/b", "new"]);
}

#[test]
fn keeps_and_reports_changes_by_the_user() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    fixture.call(&undo, "1", || {
        fixture.put("a", "by the call");
        fixture.put("d/b", "by the call");
    });
    fixture.put("d/b", "by the user");
    let preview = undo.preview("1").unwrap();
    let conflicts: Vec<_> = preview.conflicts().map(|item| (item.path.to_string(), item.conflict)).collect();
    assert_eq!(conflicts, [("d/b".to_owned(), Some(Reason::ChangedByUser))]);
    let rewound = undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert_eq!(rewound.kept.len(), 1);
    assert_eq!(
        (fixture.text("a").as_deref(), fixture.text("d/b").as_deref()),
        (Some("one"), Some("by the user"))
    );
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(fixture.text("d/b").as_deref(), Some("two"));
}

#[test]
fn keeps_changes_after_the_preview_even_when_overwriting_conflicts() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    fixture.call(&undo, "1", || fixture.put("a", "by the call"));
    let preview = undo.preview("1").unwrap();
    fixture.put("a", "after the preview");
    let rewound = undo.rewind(&preview, Conflicts::Overwrite).unwrap();
    assert_eq!(rewound.kept, [(RelativePath::new("a"), Reason::ChangedSincePreview)]);
    assert_eq!(fixture.text("a").as_deref(), Some("after the preview"));
}

#[test]
fn checkpoints_survive_a_restart_and_a_damaged_line() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    fixture.call(&undo, "1", || fixture.put("a", "first"));
    fixture.call(&undo, "2", || fixture.put("a", "second"));
    drop(undo);
    let log = fixture.base.join("undo/log");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 7]).unwrap();
    let undo = fixture.open();
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(fixture.text("a").as_deref(), Some("one"));
    drop(undo);
    // Checkpoints that were added after the damaged line are there, too.
    assert!(fixture.open().list().iter().any(|line| line.by == ChangeAuthor::Call("rewind-1".to_owned())));
}

#[test]
fn rejects_a_store_in_use_or_inside_the_workspace() {
    let fixture = Fixture::new();
    let _undo = fixture.open();
    let workspace = Workspace::open(fixture.base.join("ws")).unwrap();
    let open = |path| Undo::open(&workspace, fixture.base.join(path), UndoLimits::default());
    assert!(matches!(open("undo"), Err(UndoError::Busy(_))));
    assert!(matches!(open("ws/undo"), Err(UndoError::Inside(_))));
}

#[test]
fn reports_and_keeps_a_file_too_large_to_save() {
    let fixture = Fixture::new();
    fixture.put("large", &"x".repeat(2_000));
    let undo = fixture.with(UndoLimits::default().with_file(1_000));
    fixture.call(&undo, "1", || {
        fixture.put("large", &"y".repeat(2_000));
        fixture.put("large too", &"z".repeat(2_000));
    });
    let preview = undo.preview("1").unwrap();
    assert_eq!(preview.not_restorable, [RelativePath::new("large")]);
    let rewound = undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert_eq!(rewound.kept, [(RelativePath::new("large too"), Reason::NotKept)]);
    assert!(fixture.text("large too").is_some());
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(fixture.text("large too"), None);
}

#[test]
fn drops_the_oldest_checkpoints_when_the_store_is_full() {
    let fixture = Fixture::new();
    let undo = fixture.with(UndoLimits::default().with_total(40_000));
    for number in 0..100 {
        let text = format!("{number} ").repeat(500);
        fixture.call(&undo, &format!("call-{number}"), || fixture.put("a", &text));
        assert!(undo.bytes() < 44_000, "{} after {number}", undo.bytes());
    }
    assert!(matches!(undo.preview("call-3"), Err(UndoError::Unknown(_))));
    back(&undo, "call-98", Conflicts::Keep);
    assert_eq!(fixture.text("a"), Some("97 ".repeat(500)));
    drop(undo);
    let undo = fixture.with(UndoLimits::default().with_total(40_000));
    back(&undo, "rewind-1", Conflicts::Keep);
    assert_eq!(fixture.text("a"), Some("99 ".repeat(500)));
}

#[test]
fn leaves_ignored_files_alone_even_when_the_rules_change() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.at("target")).unwrap();
    fixture.put("target/x", "built");
    fixture.put(".gitignore", "target/\n*.env\n");
    fixture.put("s.env", "secret");
    let undo = fixture.open();
    fixture.call(&undo, "1", || {
        fixture.put(".gitignore", "");
        fixture.put("target/x", "built again");
        fs::remove_file(fixture.at("s.env")).unwrap();
    });
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(fixture.text("target/x").as_deref(), Some("built again"));
    assert_eq!(fixture.text("s.env").as_deref(), Some("secret"));
    assert_eq!(fixture.text(".gitignore").as_deref(), Some("target/\n*.env\n"));
}

#[test]
fn never_writes_through_a_directory_that_became_a_link() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    fixture.call(&undo, "1", || fixture.put("d/b", "by the call"));
    let preview = undo.preview("1").unwrap();
    fs::write(fixture.base.join("out/b"), "outside").unwrap();
    fs::rename(fixture.at("d"), fixture.at("moved")).unwrap();
    symlink(fixture.base.join("out"), fixture.at("d")).unwrap();
    undo.rewind(&preview, Conflicts::Overwrite).unwrap();
    assert_eq!(fs::read_to_string(fixture.base.join("out/b")).unwrap(), "outside");
}

#[test]
fn never_restores_damaged_content() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    fixture.call(&undo, "1", || fixture.put("a", "by the call"));
    let hash = blake3::hash(b"one").to_hex().to_string();
    fs::write(fixture.base.join("undo/blobs").join(&hash[..2]).join(&hash), "damaged").unwrap();
    let rewound = back(&undo, "1", Conflicts::Keep);
    assert_eq!(rewound.kept, [(RelativePath::new("a"), Reason::Refused)]);
    assert_eq!(fixture.text("a").as_deref(), Some("by the call"));
}

#[test]
fn changes_during_a_tool_call_are_not_the_users() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    undo.begin_call("slow").unwrap();
    fixture.put("a", "by the slow call");
    fixture.call(&undo, "quick", || fixture.put("d/b", "by the quick call"));
    undo.end_call("slow").unwrap();
    let preview = undo.preview("slow").unwrap();
    assert_eq!(preview.conflicts().count(), 0);
    undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert_eq!((fixture.text("a").as_deref(), fixture.text("d/b").as_deref()), (Some("one"), Some("two")));
    // It is unknown what an abandoned tool call changed.
    undo.begin_call("lost").unwrap();
    fixture.put("a", "by whom?");
    undo.abandon("lost");
    assert_eq!(undo.preview("lost").unwrap().conflicts().count(), 1);
}

#[test]
fn call_with_paths_follows_links_and_undo_removes_its_directories() {
    let fixture = Fixture::new();
    symlink("d/b", fixture.at("link")).unwrap();
    let undo = fixture.open();
    undo.begin_call_on_paths("1", &["link", "x/y/z"]).unwrap();
    fixture.put("d/b", "through the link");
    fs::create_dir_all(fixture.at("x/y")).unwrap();
    fixture.put("x/y/z", "new");
    undo.end_call_on_paths("1", &["link", "x/y/z"]).unwrap();
    assert_eq!(undo.preview("1").unwrap().conflicts().count(), 0);
    back(&undo, "1", Conflicts::Keep);
    assert_eq!(fixture.text("d/b").as_deref(), Some("two"));
    assert!(!fixture.at("x").exists());
}

#[test]
fn keeps_a_created_directory_with_a_file_of_the_user() {
    let fixture = Fixture::new();
    let undo = fixture.open();
    fixture.call(&undo, "1", || {
        fs::create_dir_all(fixture.at("made")).unwrap();
        fixture.put("made/by the call", "");
    });
    fixture.put("made/by the user", "");
    let preview = undo.preview("1").unwrap();
    let reasons: Vec<_> = preview.conflicts().map(|item| (item.path.to_string(), item.conflict)).collect();
    let expected = [("made", Reason::Obstructed), ("made/by the user", Reason::ChangedByUser)];
    assert_eq!(reasons, expected.map(|(path, reason)| (path.to_owned(), Some(reason))));
    undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert!(fixture.at("made/by the user").exists() && !fixture.at("made/by the call").exists());
}
