//! Tools in a session that an editor has open: what the user has not saved is what they read, and never lost.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lariat_core::BoxFuture;
use lariat_core::editor_files::{EditorFiles, EditorText};
use lariat_tools::Commands;
use serde_json::{Value, json};

use crate::file_permissions::{call, denying};
use crate::fixture::Fixture;

/// How the editor handles a request to save.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Saving {
    Works,
    /// It formats the text: every line ends in `;`.
    Formats,
    /// It says that it saved, and did not.
    Lies,
    Refused,
}

/// An editor with open files.
struct FakeEditor {
    texts: Mutex<HashMap<PathBuf, EditorText>>,
    asked: Mutex<Vec<PathBuf>>,
    saved: Mutex<Vec<PathBuf>>,
    saving: Saving,
}

impl EditorFiles for FakeEditor {
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, EditorText> {
        self.asked.lock().unwrap().push(path.to_owned());
        let text = self.texts.lock().unwrap().get(path).cloned().unwrap_or(EditorText::Absent);
        Box::pin(std::future::ready(text))
    }

    #[expect(clippy::disallowed_methods, reason = "the editor saves on its own")]
    fn save<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let result = match self.saving {
            Saving::Refused => Err("the editor does not save".to_owned()),
            Saving::Lies => Ok(()),
            Saving::Works | Saving::Formats => {
                let text =
                    if self.saving == Saving::Formats { text.replace('\n', ";\n") } else { text.to_owned() };
                std::fs::write(path, &text).unwrap();
                self.texts.lock().unwrap().insert(path.to_owned(), EditorText::Text(text));
                self.saved.lock().unwrap().push(path.to_owned());
                Ok(())
            }
        };
        Box::pin(std::future::ready(result))
    }
}

struct Opened {
    fixture: Fixture,
    editor: Arc<FakeEditor>,
}

impl Opened {
    /// A workspace with the file `a.txt` (`one`, `two`), which an editor has open.
    fn new(saving: Saving) -> Self {
        let editor = Arc::new(FakeEditor {
            texts: Mutex::default(),
            asked: Mutex::default(),
            saved: Mutex::default(),
            saving,
        });
        let files = Arc::clone(&editor) as Arc<dyn EditorFiles>;
        let fixture = Fixture::with(|bench| bench.with_commands(Commands::Unconfined).with_editor(files));
        fixture.put("a.txt", "one\ntwo\n");
        Self { fixture, editor }
    }

    fn show(&self, path: &str, text: &str) {
        self.set(path, EditorText::Text(text.to_owned()));
    }

    fn set(&self, path: &str, text: EditorText) {
        self.editor.texts.lock().unwrap().insert(self.fixture.base.join("ws").join(path), text);
    }

    fn saves(&self) -> usize {
        self.editor.saved.lock().unwrap().len()
    }
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "path": "a.txt", "old_string": old, "new_string": new })
}

#[tokio::test]
async fn read_file_shows_the_unsaved_text_each_time_and_says_so() {
    let opened = Opened::new(Saving::Works);
    let read = || opened.fixture.text("read_file", json!({ "path": "a.txt" }));
    assert!(!read().await.contains("not saved"));
    opened.show("a.txt", "one\nTWO\nthree\n");
    for _ in 0..2 {
        let text = read().await;
        assert!(text.contains("     2\tTWO\n     3\tthree\n") && text.contains("not saved"), "{text}");
    }
    assert_eq!(opened.fixture.content("a.txt").unwrap(), "one\ntwo\n");
    assert_eq!(opened.saves(), 0, "to read saves nothing");
    let page = opened.fixture.text("read_file", json!({ "path": "a.txt", "offset": 3 })).await;
    assert!(page.starts_with("     3\tthree\n"), "{page}");
    opened.show("a.txt", "");
    assert!(read().await.contains("not saved"), "also if everything is removed");
}

#[tokio::test]
async fn forms_that_editors_do_not_keep_are_not_a_change() {
    let opened = Opened::new(Saving::Works);
    opened.fixture.put("crlf.txt", "\u{feff}one\r\ntwo\r\n");
    opened.show("crlf.txt", "one\ntwo");
    opened.show("a.txt", "\u{feff}one\r\ntwo");
    for path in ["crlf.txt", "a.txt"] {
        let text = opened.fixture.text("read_file", json!({ "path": path })).await;
        assert!(!text.contains("not saved"), "{text}");
    }
}

#[tokio::test]
async fn an_edit_is_made_to_the_unsaved_text_after_the_editor_saved_it() {
    let opened = Opened::new(Saving::Works);
    opened.show("a.txt", "one\nTWO\n");
    let preview = opened.fixture.tool("edit_file").preview(&edit("TWO", "2")).await.unwrap().unwrap();
    assert!(preview.contains("-TWO\n+2\n"), "the user approves what will happen: {preview}");
    assert_eq!(opened.saves(), 0);
    opened.fixture.text("edit_file", edit("TWO", "2")).await;
    assert_eq!(opened.fixture.content("a.txt").unwrap(), "one\n2\n");
    assert_eq!(opened.saves(), 1);
}

#[tokio::test]
async fn a_change_that_does_not_apply_saves_nothing() {
    let opened = Opened::new(Saving::Works);
    opened.show("a.txt", "one\nTWO\n");
    opened.fixture.error("edit_file", edit("two", "2")).await;
    let unread = opened.fixture.error("write_file", json!({ "path": "a.txt", "content": "x" })).await;
    assert!(unread.contains("read"), "{unread}");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    opened.fixture.error("apply_patch", json!({ "patch": patch })).await;
    assert_eq!((opened.saves(), opened.fixture.content("a.txt").unwrap()), (0, "one\ntwo\n".to_owned()));
}

#[tokio::test]
async fn changes_since_the_last_read_must_be_read_first() {
    let opened = Opened::new(Saving::Works);
    let read = json!({ "path": "a.txt" });
    let write = json!({ "path": "a.txt", "content": "all new\n" });
    opened.fixture.text("read_file", read.clone()).await;
    // The user types after the agent read the file.
    opened.show("a.txt", "one\ntwo\nthree\n");
    for (tool, arguments) in [("write_file", write.clone()), ("edit_file", edit("one", "1"))] {
        let error = opened.fixture.error(tool, arguments).await;
        assert!(error.contains("changed"), "{tool}: {error}");
    }
    opened.fixture.text("read_file", read.clone()).await;
    opened.show("a.txt", "one\ntwo\nthree\nfour\n");
    opened.fixture.error("write_file", write.clone()).await;
    assert_eq!(opened.saves(), 0);
    opened.fixture.text("read_file", read.clone()).await;
    opened.fixture.text("write_file", write.clone()).await;
    assert_eq!(opened.fixture.content("a.txt").unwrap(), "all new\n");

    // The user throws the unsaved text away that the agent read.
    opened.show("a.txt", "all new and more\n");
    opened.fixture.text("read_file", read).await;
    opened.show("a.txt", "all new\n");
    opened.fixture.error("write_file", write).await;
}

#[tokio::test]
async fn a_file_that_the_editor_does_not_save_stays_as_it_is() {
    for saving in [Saving::Refused, Saving::Lies] {
        let opened = Opened::new(saving);
        opened.show("a.txt", "one\nTWO\n");
        let patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n";
        for (tool, arguments) in [("edit_file", edit("one", "1")), ("apply_patch", json!({ "patch": patch }))]
        {
            let error = opened.fixture.error(tool, arguments).await;
            assert!(error.contains("unsaved changes to `a.txt`"), "{error}");
            assert_eq!(opened.fixture.content("a.txt").unwrap(), "one\ntwo\n");
        }
    }
}

#[tokio::test]
async fn an_editor_that_formats_on_save_is_read_again() {
    let opened = Opened::new(Saving::Formats);
    opened.show("a.txt", "one\nTWO\n");
    let text = opened.fixture.text("edit_file", edit("TWO", "2")).await;
    assert!(text.contains("2;"), "{text}");
    assert_eq!(opened.fixture.content("a.txt").unwrap(), "one;\n2;\n");
}

#[tokio::test]
async fn a_silent_editor_leaves_the_disk_and_the_result_says_so() {
    let opened = Opened::new(Saving::Works);
    opened.set("a.txt", EditorText::Silent);
    let read = opened.fixture.text("read_file", json!({ "path": "a.txt" })).await;
    assert!(read.contains("     1\tone\n") && read.contains("did not answer"), "{read}");
    let edited = opened.fixture.text("edit_file", edit("one", "1")).await;
    assert!(edited.contains("did not answer"), "{edited}");
    assert_eq!(opened.fixture.content("a.txt").unwrap(), "1\ntwo\n");
}

#[tokio::test]
async fn the_editor_is_not_asked_about_a_denied_file() {
    let opened = Opened::new(Saving::Works);
    opened.show("a.txt", "secret\n");
    let judge = denying(|path: &Path, _| path.ends_with("a.txt"));
    for (tool, arguments) in [("read_file", json!({ "path": "a.txt" })), ("edit_file", edit("secret", "x"))] {
        let answer = call(&opened.fixture, judge.clone(), tool, arguments).await;
        assert!(answer.contains("denied") && !answer.contains("secret\n"), "{answer}");
    }
    assert_eq!(*opened.editor.asked.lock().unwrap(), Vec::<PathBuf>::new());
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_is_read_by_its_real_path() {
    let opened = Opened::new(Saving::Works);
    std::os::unix::fs::symlink("a.txt", opened.fixture.base.join("ws/link.txt")).unwrap();
    opened.show("a.txt", "one\nTWO\n");
    let text = opened.fixture.text("read_file", json!({ "path": "link.txt" })).await;
    assert!(text.contains("TWO"), "{text}");
}
