//! Tests checkpoints and rewinds in real directories.
#![expect(clippy::disallowed_methods, reason = "tests check the files without going through the workspace")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::files::Workspace;

struct Ground {
    base: PathBuf,
}

impl Ground {
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
        undo.before(id).unwrap();
        change();
        undo.after(id).unwrap();
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

fn back(undo: &Undo, call: &str, conflicts: Conflicts) -> Rewound {
    undo.rewind(&undo.preview(call).unwrap(), conflicts).unwrap()
}

#[test]
fn what_a_call_deleted_changed_and_added_is_undone_and_redone() {
    let ground = Ground::new();
    let undo = ground.open();
    fs::set_permissions(ground.at("a"), fs::Permissions::from_mode(0o640)).unwrap();
    ground.call(&undo, "1", || {
        fs::remove_dir_all(ground.at("d")).unwrap();
        ground.put("a", "changed");
        fs::set_permissions(ground.at("a"), fs::Permissions::from_mode(0o755)).unwrap();
        ground.put("new", "new");
    });
    let rewound = back(&undo, "1", Conflicts::Keep);
    assert!(rewound.kept.is_empty(), "{rewound:?}");
    assert_eq!((ground.text("a").as_deref(), ground.text("d/b").as_deref()), (Some("one"), Some("two")));
    assert_eq!(ground.text("new"), None);
    assert_eq!(fs::metadata(ground.at("a")).unwrap().permissions().mode() & 0o777, 0o640);
    back(&undo, &rewound.id, Conflicts::Keep);
    assert_eq!((ground.text("a").as_deref(), ground.text("d/b")), (Some("changed"), None));
    let changed: Vec<_> = undo.changes("1").unwrap().iter().map(|change| change.path.to_string()).collect();
    assert_eq!(changed, ["a", "d", "d/b", "new"]);
}

#[test]
fn what_the_user_changed_since_is_kept_and_told() {
    let ground = Ground::new();
    let undo = ground.open();
    ground.call(&undo, "1", || {
        ground.put("a", "by the call");
        ground.put("d/b", "by the call");
    });
    ground.put("d/b", "by the user");
    let preview = undo.preview("1").unwrap();
    let conflicts: Vec<_> = preview.conflicts().map(|item| (item.path.to_string(), item.conflict)).collect();
    assert_eq!(conflicts, [("d/b".to_owned(), Some(Reason::ChangedByUser))]);
    let rewound = undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert_eq!(rewound.kept.len(), 1);
    assert_eq!(
        (ground.text("a").as_deref(), ground.text("d/b").as_deref()),
        (Some("one"), Some("by the user"))
    );
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(ground.text("d/b").as_deref(), Some("two"));
}

#[test]
fn what_changed_after_the_preview_is_kept_even_when_conflicts_are_not() {
    let ground = Ground::new();
    let undo = ground.open();
    ground.call(&undo, "1", || ground.put("a", "by the call"));
    let preview = undo.preview("1").unwrap();
    ground.put("a", "after the preview");
    let rewound = undo.rewind(&preview, Conflicts::Overwrite).unwrap();
    assert_eq!(rewound.kept, [(RelativePath::new("a"), Reason::ChangedSincePreview)]);
    assert_eq!(ground.text("a").as_deref(), Some("after the preview"));
}

#[test]
fn checkpoints_survive_the_process_and_a_torn_line() {
    let ground = Ground::new();
    let undo = ground.open();
    ground.call(&undo, "1", || ground.put("a", "first"));
    ground.call(&undo, "2", || ground.put("a", "second"));
    drop(undo);
    let log = ground.base.join("undo/log");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 7]).unwrap();
    let undo = ground.open();
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(ground.text("a").as_deref(), Some("one"));
    drop(undo);
    // Checkpoints that were added after the damaged line are there, too.
    assert!(ground.open().list().iter().any(|line| line.by == By::Call("rewind-1".to_owned())));
}

#[test]
fn two_processes_do_not_share_a_store_and_a_store_is_not_in_its_workspace() {
    let ground = Ground::new();
    let _undo = ground.open();
    let workspace = Workspace::open(ground.base.join("ws")).unwrap();
    let open = |path| Undo::open(&workspace, ground.base.join(path), UndoLimits::default());
    assert!(matches!(open("undo"), Err(UndoError::Busy(_))));
    assert!(matches!(open("ws/undo"), Err(UndoError::Inside(_))));
}

#[test]
fn a_file_too_large_to_keep_is_named_and_not_destroyed() {
    let ground = Ground::new();
    ground.put("large", &"x".repeat(2_000));
    let undo = ground.with(UndoLimits::default().with_file(1_000));
    ground.call(&undo, "1", || {
        ground.put("large", &"y".repeat(2_000));
        ground.put("large too", &"z".repeat(2_000));
    });
    let preview = undo.preview("1").unwrap();
    assert_eq!(preview.not_restorable, [RelativePath::new("large")]);
    let rewound = undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert_eq!(rewound.kept, [(RelativePath::new("large too"), Reason::NotKept)]);
    assert!(ground.text("large too").is_some());
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(ground.text("large too"), None);
}

#[test]
fn the_oldest_checkpoints_are_dropped_when_the_store_is_full() {
    let ground = Ground::new();
    let undo = ground.with(UndoLimits::default().with_total(40_000));
    for number in 0..100 {
        let text = format!("{number} ").repeat(500);
        ground.call(&undo, &format!("call-{number}"), || ground.put("a", &text));
        assert!(undo.bytes() < 44_000, "{} after {number}", undo.bytes());
    }
    assert!(matches!(undo.preview("call-3"), Err(UndoError::Unknown(_))));
    back(&undo, "call-98", Conflicts::Keep);
    assert_eq!(ground.text("a"), Some("97 ".repeat(500)));
    drop(undo);
    let undo = ground.with(UndoLimits::default().with_total(40_000));
    back(&undo, "rewind-1", Conflicts::Keep);
    assert_eq!(ground.text("a"), Some("99 ".repeat(500)));
}

#[test]
fn what_git_ignores_is_left_alone_even_when_the_rules_change() {
    let ground = Ground::new();
    fs::create_dir_all(ground.at("target")).unwrap();
    ground.put("target/x", "built");
    ground.put(".gitignore", "target/\n*.env\n");
    ground.put("s.env", "secret");
    let undo = ground.open();
    ground.call(&undo, "1", || {
        ground.put(".gitignore", "");
        ground.put("target/x", "built again");
        fs::remove_file(ground.at("s.env")).unwrap();
    });
    back(&undo, "1", Conflicts::Overwrite);
    assert_eq!(ground.text("target/x").as_deref(), Some("built again"));
    assert_eq!(ground.text("s.env").as_deref(), Some("secret"));
    assert_eq!(ground.text(".gitignore").as_deref(), Some("target/\n*.env\n"));
}

#[test]
fn a_directory_that_became_a_link_out_of_the_workspace_is_not_written_through() {
    let ground = Ground::new();
    let undo = ground.open();
    ground.call(&undo, "1", || ground.put("d/b", "by the call"));
    let preview = undo.preview("1").unwrap();
    fs::write(ground.base.join("out/b"), "outside").unwrap();
    fs::rename(ground.at("d"), ground.at("moved")).unwrap();
    symlink(ground.base.join("out"), ground.at("d")).unwrap();
    undo.rewind(&preview, Conflicts::Overwrite).unwrap();
    assert_eq!(fs::read_to_string(ground.base.join("out/b")).unwrap(), "outside");
}

#[test]
fn a_damaged_content_is_never_restored() {
    let ground = Ground::new();
    let undo = ground.open();
    ground.call(&undo, "1", || ground.put("a", "by the call"));
    let hash = blake3::hash(b"one").to_hex().to_string();
    fs::write(ground.base.join("undo/blobs").join(&hash[..2]).join(&hash), "damaged").unwrap();
    let rewound = back(&undo, "1", Conflicts::Keep);
    assert_eq!(rewound.kept, [(RelativePath::new("a"), Reason::Refused)]);
    assert_eq!(ground.text("a").as_deref(), Some("by the call"));
}

#[test]
fn what_is_found_while_a_call_is_under_way_is_not_the_users() {
    let ground = Ground::new();
    let undo = ground.open();
    undo.before("slow").unwrap();
    ground.put("a", "by the slow call");
    ground.call(&undo, "quick", || ground.put("d/b", "by the quick call"));
    undo.after("slow").unwrap();
    let preview = undo.preview("slow").unwrap();
    assert_eq!(preview.conflicts().count(), 0);
    undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert_eq!((ground.text("a").as_deref(), ground.text("d/b").as_deref()), (Some("one"), Some("two")));
    // It is unknown what an abandoned tool call changed.
    undo.before("lost").unwrap();
    ground.put("a", "by whom?");
    undo.abandon("lost");
    assert_eq!(undo.preview("lost").unwrap().conflicts().count(), 1);
}

#[test]
fn a_call_that_names_its_files_finds_them_through_links_and_creates_what_can_go_again() {
    let ground = Ground::new();
    symlink("d/b", ground.at("link")).unwrap();
    let undo = ground.open();
    undo.before_paths("1", &["link", "x/y/z"]).unwrap();
    ground.put("d/b", "through the link");
    fs::create_dir_all(ground.at("x/y")).unwrap();
    ground.put("x/y/z", "new");
    undo.after_paths("1", &["link", "x/y/z"]).unwrap();
    assert_eq!(undo.preview("1").unwrap().conflicts().count(), 0);
    back(&undo, "1", Conflicts::Keep);
    assert_eq!(ground.text("d/b").as_deref(), Some("two"));
    assert!(!ground.at("x").exists());
}

#[test]
fn a_file_of_the_users_keeps_the_directory_that_a_call_made() {
    let ground = Ground::new();
    let undo = ground.open();
    ground.call(&undo, "1", || {
        fs::create_dir_all(ground.at("made")).unwrap();
        ground.put("made/by the call", "");
    });
    ground.put("made/by the user", "");
    let preview = undo.preview("1").unwrap();
    let reasons: Vec<_> = preview.conflicts().map(|item| (item.path.to_string(), item.conflict)).collect();
    let expected = [("made", Reason::InTheWay), ("made/by the user", Reason::ChangedByUser)];
    assert_eq!(reasons, expected.map(|(path, reason)| (path.to_owned(), Some(reason))));
    undo.rewind(&preview, Conflicts::Keep).unwrap();
    assert!(ground.at("made/by the user").exists() && !ground.at("made/by the call").exists());
}
