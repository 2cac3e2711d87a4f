//! Tests of what undo recorded in a directory.
#![expect(clippy::disallowed_methods, reason = "tests create the directories that they work in")]

use lariat_host::files::WriteCondition;

use super::*;

struct Fixture {
    base: PathBuf,
    folders: UserDirectories,
    workspace: Workspace,
    open: OpenUndoStores,
    undo: Undo,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let base = std::env::temp_dir().join(format!("lariat-file-history-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        let home = base.join("home");
        std::fs::create_dir_all(base.join("project")).unwrap();
        let folders = UserDirectories { config: home.join("config"), state: home.join("state"), home };
        let workspace = Workspace::open(base.join("project")).unwrap();
        let open = OpenUndoStores::default();
        std::fs::create_dir_all(folders.undo(workspace.path()).parent().unwrap()).unwrap();
        let undo = open.open(&workspace, &folders.undo(workspace.path())).unwrap();
        Self { base, folders, workspace, open, undo }
    }

    fn call(&self, id: &str, path: &str, text: &str) {
        self.undo.begin_call(id).unwrap();
        self.workspace.write(path, text.as_bytes(), &WriteCondition::Any).unwrap();
        self.undo.end_call(id).unwrap();
    }

    fn stores(&self) -> UndoStores {
        UndoStores::open_shared(&self.folders, self.workspace.path(), &self.open).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

fn set(calls: &[&str]) -> HashSet<String> {
    calls.iter().map(|&call| call.to_owned()).collect()
}

#[test]
fn open_store_is_shared_in_this_process_and_busy_for_others() {
    let fixture = Fixture::new("shared");
    fixture.call("c1", "a.txt", "one\n");
    assert_eq!(fixture.stores().stores().len(), 1);
    let other = UndoStores::open(&fixture.folders, fixture.workspace.path());
    assert!(matches!(other, Err(ServiceError::Undo(UndoError::Busy(_)))), "{other:?}");
}

#[test]
fn changes_of_several_calls_are_one_change_and_undone_ones_are_none() {
    let fixture = Fixture::new("net");
    fixture.call("c1", "a.txt", "one\n");
    fixture.call("other", "b.txt", "theirs\n");
    fixture.call("c2", "a.txt", "two\n");
    let stores = fixture.stores();
    let changed = stores.changed_files(&set(&["c1", "c2"]));
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!((changed[0].path.as_str(), &changed[0].before), ("a.txt", &None));
    assert_eq!(changed[0].after, Some(FileContent::Text("two\n".to_owned())));
    let previews = stores.previews(&set(&["c1", "c2"])).unwrap();
    assert_eq!((previews[0].undone.len(), previews[0].others), (3, 1));
    previews[0].undo.rewind(&previews[0].preview, lariat_host::undo::Conflicts::Keep).unwrap();
    assert_eq!(stores.changed_files(&set(&["c1", "c2"])), []);
}

#[test]
fn change_of_another_session_with_the_same_call_id_is_not_undone() {
    let fixture = Fixture::new("same-id");
    for (loop_id, path) in [("one.default.1", "a.txt"), ("two.default.1", "b.txt")] {
        let id = fixture.undo.begin_call_of_loop("call_0", loop_id, None).unwrap();
        fixture.workspace.write(path, b"text\n", &WriteCondition::Any).unwrap();
        fixture.undo.end_call(&id).unwrap();
    }
    let stores = fixture.stores();
    let second = set(&["call_0@two.default.1"]);
    let changed = stores.changed_files(&second);
    assert_eq!(changed.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["b.txt"]);
    let previews = stores.previews(&second).unwrap();
    assert_eq!(
        (previews[0].undone.as_slice(), previews[0].others),
        (&["call_0@two.default.1".to_owned()][..], 0)
    );
    previews[0].undo.rewind(&previews[0].preview, lariat_host::undo::Conflicts::Keep).unwrap();
    assert!(fixture.workspace.stamp("a.txt").is_ok() && fixture.workspace.stamp("b.txt").is_err());
    let calls = changed_calls(&fixture.undo);
    assert_eq!(calls[0].change_id(), "call_0@one.default.1");
    assert_eq!(calls[1].change_id(), "call_0@two.default.1");
    // A call that an older version recorded has no loop.
    fixture.call("call_9", "c.txt", "text\n");
    assert_eq!(stores.changed_files(&set(&["call_9@one.default.1"])).len(), 1);
}
