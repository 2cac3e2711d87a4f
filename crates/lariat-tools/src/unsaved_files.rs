//! Shows tools the files as the editor of the session has them, with changes that the user has not saved.
//!
//! Commands and searches see the disk. The tools that read or edit a text file compare it with the editor first.
//!
//! Invariants: the workspace of the tool call opens a file before the editor hears of it, so permissions are checked first.
//! Files change on disk only, where undo and the sandbox see it. A tool never changes a file for which the editor shows
//! other text: the editor saves its text first, or the call fails. Without an editor, nothing here runs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::editor_files::{EditorFiles, EditorText};
use lariat_core::tool::{ToolError, ToolResult};
use lariat_host::files::text::Text;
use lariat_host::files::{FileError, Workspace};

use crate::file_error::failed;
use crate::off_thread::off_thread;

/// Maximum size of a file that is compared with the editor, in bytes. Larger ones cannot be edited.
const COMPARE_LIMIT: u64 = 16 * 1024 * 1024;
/// What a result says if the editor did not answer.
const SILENT: &str = "[The editor did not answer. This is about the file on disk; changes that the user has not saved are not in it.]\n";

/// What differs in the editor, among the files of one tool call. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnsavedFiles {
    /// By the path in the tool call.
    texts: Arc<HashMap<String, UnsavedText>>,
    /// Whether the editor did not answer about a file.
    is_silent: bool,
}

/// A text that the editor has not saved.
#[derive(Clone, Debug)]
struct UnsavedText {
    /// The file on disk.
    real: PathBuf,
    /// The text in the encoding and with the line endings of the file.
    text: Text,
    /// The text as the editor sent it.
    shown: String,
}

impl UnsavedFiles {
    /// Compares files of a workspace with the editor.
    pub(crate) async fn look(
        workspace: &Workspace,
        editor: &Arc<dyn EditorFiles>,
        paths: Vec<String>,
    ) -> Result<Self, ToolError> {
        let (mut texts, mut is_silent) = (HashMap::new(), false);
        for path in paths {
            match compare(workspace, editor, &path).await? {
                Comparison::Same => {}
                Comparison::Silent => is_silent = true,
                Comparison::Differs(text) => drop(texts.insert(path, text)),
            }
        }
        Ok(Self { texts: Arc::new(texts), is_silent })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The text that the editor shows instead of the file on disk.
    pub(crate) fn text(&self, path: &str) -> Option<&Text> {
        self.texts.get(path).map(|unsaved| &unsaved.text)
    }

    /// Lets the editor save all of them.
    pub(crate) async fn save(
        &self,
        workspace: &Workspace,
        editor: &Arc<dyn EditorFiles>,
    ) -> Result<(), ToolError> {
        for (path, unsaved) in &*self.texts {
            let refused = |reason: String| failed(FileError::Unsaved { path: path.clone(), reason });
            editor.save(&unsaved.real, &unsaved.shown).await.map_err(refused)?;
            match compare(workspace, editor, path).await? {
                Comparison::Same => {}
                Comparison::Silent => return Err(refused("the editor did not answer".to_owned())),
                Comparison::Differs(_) => return Err(refused("the editor did not save them".to_owned())),
            }
        }
        Ok(())
    }

    /// Adds what the model should know to a result.
    pub(crate) fn note(&self, mut result: ToolResult) -> ToolResult {
        if self.is_silent {
            result.content.push(Content::text(SILENT));
        }
        result
    }
}

/// How the editor's text compares with the file on disk.
enum Comparison {
    Same,
    Differs(UnsavedText),
    Silent,
}

async fn compare(
    workspace: &Workspace,
    editor: &Arc<dyn EditorFiles>,
    path: &str,
) -> Result<Comparison, ToolError> {
    let (files, named) = (workspace.clone(), path.to_owned());
    // What is not a text file, or cannot be read, is for the tool to report.
    let Some((real, disk)) = off_thread(move || read(&files, &named)).await? else {
        return Ok(Comparison::Same);
    };
    let shown = match editor.read(&real).await {
        EditorText::Text(shown) => shown,
        EditorText::Absent => return Ok(Comparison::Same),
        EditorText::Silent => return Ok(Comparison::Silent),
    };
    let text = disk.with_text(shown.strip_prefix('\u{feff}').unwrap_or(&shown));
    if is_same(disk.as_str(), text.as_str()) {
        return Ok(Comparison::Same);
    }
    Ok(Comparison::Differs(UnsavedText { real, text, shown }))
}

fn read(workspace: &Workspace, path: &str) -> Option<(PathBuf, Text)> {
    let real = workspace.real_path(path).ok()?;
    let content = workspace.read(path, COMPARE_LIMIT).ok()?;
    Some((real, Text::from_bytes(content.bytes)?))
}

/// Whether two texts are the same for an editor. Editors make every line ending `\n`, and some leave out the last one.
fn is_same(disk: &str, shown: &str) -> bool {
    let lines = |text: &str| text.strip_suffix('\n').unwrap_or(text).replace('\r', "\n");
    disk == shown || lines(disk) == lines(shown)
}

/// An editor without a debug form of its own.
#[derive(Clone)]
pub(crate) struct Editor(pub(crate) Arc<dyn EditorFiles>);

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Editor")
    }
}
