//! Every tool that opens files checks them against the permissions of the tool call, by their real path.

#![expect(clippy::panic, reason = "tests panic when they fail")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lariat_core::cancel::CancellationToken;
use lariat_core::file_access::{FileAccessCheck, FileUse};
use lariat_core::tool::{ToolEffects, ToolError};
use serde_json::{Value, json};

use crate::fixture::{Fixture, context, text};

/// Denies what a function denies, and records what it was asked.
pub(crate) struct DenyingJudge<F> {
    denies: F,
    asked: Mutex<Vec<(PathBuf, FileUse)>>,
}

impl<F: Fn(&Path, FileUse) -> bool + Send + Sync> FileAccessCheck for DenyingJudge<F> {
    fn judge(&self, path: &Path, used: FileUse) -> Result<(), String> {
        self.asked.lock().unwrap().push((path.to_owned(), used));
        if (self.denies)(path, used) { Err("access is denied".to_owned()) } else { Ok(()) }
    }
}

pub(crate) fn denying<F: Fn(&Path, FileUse) -> bool + Send + Sync>(denies: F) -> Arc<DenyingJudge<F>> {
    Arc::new(DenyingJudge { denies, asked: Mutex::default() })
}

pub(crate) async fn call(
    fixture: &Fixture,
    judge: Arc<dyn FileAccessCheck>,
    tool: &str,
    arguments: Value,
) -> String {
    let mut context = context(tool, CancellationToken::new());
    context.files = Some(judge);
    match fixture.tool(tool).execute(arguments, context).await {
        Ok(result) => text(&result),
        Err(error) => error.to_string(),
    }
}

/// Arguments for each tool that opens a file; `None` for tools that open none.
fn uses(tool: &str) -> Option<Value> {
    let patch = "--- a/d/secret.rs\n+++ b/d/secret.rs\n@@ -1 +1 @@\n-fn hunter2() {}\n+fn changed() {}\n";
    Some(match tool {
        "read_file" => json!({ "path": "d/secret.rs" }),
        "list_files" | "repo_map" => json!({ "path": "d" }),
        "search" => json!({ "pattern": "hunter2", "path": "d" }),
        "glob" => json!({ "pattern": "**/secret.rs", "path": "d" }),
        "write_file" => json!({ "path": "d/new.rs", "content": "x" }),
        "edit_file" => json!({ "path": "d/secret.rs", "old_string": "hunter2", "new_string": "changed" }),
        "multi_edit" => {
            json!({ "path": "d/secret.rs", "edits": [{ "old_string": "hunter2", "new_string": "changed" }] })
        }
        "apply_patch" => json!({ "patch": patch }),
        // These access files through the sandbox, the network or not at all.
        "bash" | "bash_output" | "bash_input" | "bash_stop" | "fetch" | "todo" | "ask_user" | "recall" => {
            return None;
        }
        other => panic!("add arguments with which `{other}` uses a file, or list it as using none"),
    })
}

/// Every tool that opens files asks the judge, and does nothing with a file that it denies.
#[tokio::test]
async fn every_tool_checks_the_files_that_it_opens() {
    let fixture = Fixture::new();
    fixture.put("d/secret.rs", "fn hunter2() {}\n");
    let mut asking = 0;
    for tool in fixture.tools() {
        let Some(arguments) = uses(tool.name()) else { continue };
        let judge = denying(|_, _| true);
        let said = call(&fixture, judge.clone(), tool.name(), arguments.clone()).await;
        assert!(said.contains("access is denied"), "{}: {said}", tool.name());
        assert!(!said.contains("hunter2") || tool.name() == "search", "{}: {said}", tool.name());
        let asked = judge.asked.lock().unwrap();
        let beneath = fixture.base.join("ws/d");
        assert!(asked.iter().any(|(path, _)| path.starts_with(&beneath)), "{}: {asked:?}", tool.name());
        asking += 1;
        // The control: nothing was changed.
        if tool.effects().contains(ToolEffects::WRITES) {
            assert_eq!(
                fixture.content("d/secret.rs").as_deref(),
                Some("fn hunter2() {}\n"),
                "{}",
                tool.name()
            );
            assert_eq!(fixture.content("d/new.rs"), None);
        }
    }
    assert!(asking >= 9, "{asking}");
}

/// A tool that may read a file, but not write it, fails when it writes.
#[tokio::test]
async fn every_writing_tool_is_denied_if_only_writing_is() {
    for tool in ["write_file", "edit_file", "multi_edit", "apply_patch"] {
        let fixture = Fixture::new();
        fixture.put("d/secret.rs", "fn hunter2() {}\n");
        let arguments = uses(tool).unwrap();
        let judge = denying(|_, used| used != FileUse::Read);
        let said = call(&fixture, judge, tool, arguments.clone()).await;
        assert!(said.contains("access is denied"), "{tool}: {said}");
        assert_eq!(fixture.content("d/secret.rs").as_deref(), Some("fn hunter2() {}\n"), "{tool}");
        assert_eq!(fixture.content("d/new.rs"), None, "{tool}");
        call(&fixture, denying(|_, _| false), tool, arguments).await;
        let changed = fixture.content("d/secret.rs").as_deref() != Some("fn hunter2() {}\n");
        assert!(changed || fixture.content("d/new.rs").is_some(), "{tool} changes nothing");
    }
}

/// A hint names an existing file only if the tool call may read it.
#[tokio::test]
async fn hints_do_not_reveal_unreadable_names() {
    let fixture = Fixture::new();
    fixture.put("private/launch-codes", "x");
    let judge = denying(|path: &Path, _| path.iter().any(|name| name == "private"));
    let said = call(&fixture, judge, "read_file", json!({ "path": "private/launch-code" })).await;
    assert!(!said.contains("codes"), "{said}");
    let open = fixture.call("read_file", json!({ "path": "private/launch-code" })).await;
    assert!(matches!(open, Err(ToolError::Failed(words)) if words.contains("launch-codes")));
}
