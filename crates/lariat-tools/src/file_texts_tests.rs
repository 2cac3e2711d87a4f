//! Tests that sessions share the texts of files, and nothing that they may not read.
#![expect(clippy::disallowed_methods, reason = "the test creates its own files")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_core::content::joined_text;
use lariat_core::file_access::{FileAccessCheck, FileUse};
use lariat_core::tool::{ToolContext, ToolError, ToolResult};
use lariat_host::files::Workspace;
use serde_json::json;

use super::*;
use crate::Workbench;
use crate::file_tool::FileTool;
use crate::read_file::ReadFile;

struct Fixture {
    folder: PathBuf,
    bench: Workbench,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lariat-texts-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let bench = Workbench::new(Workspace::open(&folder).unwrap());
        Self { folder, bench }
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.folder.join(path), text).unwrap();
        while !self.bench.workspace().stamp(path).unwrap().is_settled() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn read(&self, session: &str, path: &str) -> Result<ToolResult, ToolError> {
        self.read_with(session, path, None)
    }

    fn read_with(
        &self,
        session: &str,
        path: &str,
        files: Option<Arc<dyn FileAccessCheck>>,
    ) -> Result<ToolResult, ToolError> {
        let cancel = CancellationToken::new();
        let mut context = ToolContext::new("call".into(), "read_file", session.into(), "l".into(), cancel);
        context.files = files;
        let arguments = serde_json::from_value(json!({ "path": path })).unwrap();
        ReadFile::run(&self.bench.of_call(&context), arguments, &context)
    }

    fn cached(&self, path: &str) -> Option<Arc<Text>> {
        let stamp = self.bench.workspace().stamp(path).unwrap();
        self.bench.texts().by_stamp(path, &stamp).map(|(_, text)| text)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn shown(result: Result<ToolResult, ToolError>) -> String {
    joined_text(&result.unwrap().content)
}

#[test]
fn sub_agent_gets_the_text_that_its_parent_has_read() {
    let fixture = Fixture::new("shared");
    fixture.write("a", "one\ntwo\n");
    fixture.write("copy", "one\ntwo\n");
    let parent = shown(fixture.read("parent", "a"));
    let text = fixture.cached("a").unwrap();
    // The cache, the caller, and nothing else: a second text would not be this one.
    assert_eq!(shown(fixture.read("child", "a")), parent);
    assert!(Arc::ptr_eq(&text, &fixture.cached("a").unwrap()));
    assert_eq!(shown(fixture.read("child", "copy")), parent);
    assert!(Arc::ptr_eq(&text, &fixture.cached("copy").unwrap()), "one text for one content");
    // What a session was shown stays its own.
    assert!(shown(fixture.read("child", "a")).contains("has not changed since"));
}

#[test]
fn changed_file_is_read_again() {
    let fixture = Fixture::new("changed");
    fixture.write("a", "one\n");
    assert!(shown(fixture.read("parent", "a")).contains("one"));
    fixture.write("a", "two\n");
    assert!(fixture.cached("a").is_none());
    assert!(shown(fixture.read("child", "a")).contains("two"));
    // One that has just changed may change again within the granularity of the clock.
    std::fs::write(fixture.folder.join("a"), "six\n").unwrap();
    assert!(shown(fixture.read("parent", "a")).contains("six"));
    std::fs::write(fixture.folder.join("a"), "ten\n").unwrap();
    assert!(shown(fixture.read("child", "a")).contains("ten"));
}

struct DeniesAll;

impl FileAccessCheck for DeniesAll {
    fn judge(&self, _: &Path, _: FileUse) -> Result<(), String> {
        Err("a rule denies it".to_owned())
    }
}

#[test]
fn sub_agent_that_may_not_read_a_file_does_not_get_its_text() {
    let fixture = Fixture::new("denied");
    fixture.write("a", "one\n");
    fixture.read("parent", "a").unwrap();
    assert!(fixture.cached("a").is_some());
    let denied = fixture.read_with("child", "a", Some(Arc::new(DeniesAll)));
    assert!(denied.unwrap_err().to_string().contains("a rule denies it"));
}

#[test]
fn full_cache_is_cleared() {
    let (fixture, texts) = (Fixture::new("full"), FileTexts::default());
    fixture.write("a", "x");
    let stamp = fixture.bench.workspace().stamp("a").unwrap();
    let add = |path: &str, content: &str| {
        let known = FileVersion::of(stamp, content.as_bytes());
        texts.remember(path, &known, Text::new(content));
    };
    add("small", "small");
    add("large", &"x".repeat(MAX_BYTES - 5));
    assert!(texts.by_stamp("small", &stamp).is_some() && texts.by_stamp("large", &stamp).is_some());
    add("more", "y");
    assert!(texts.by_stamp("small", &stamp).is_none() && texts.by_stamp("large", &stamp).is_none());
    let sizes = |state: &State| (state.bytes, state.texts.len());
    assert_eq!(sizes(&texts.lock()), (1, 1));
    (0..=MAX_PATHS).for_each(|number| add(&format!("path-{number}"), "y"));
    assert!(texts.lock().paths.len() <= MAX_PATHS);
}
