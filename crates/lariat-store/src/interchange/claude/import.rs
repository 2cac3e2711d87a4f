//! Imports a Claude Code session file.

use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use serde_json::{Map, Value};

use super::line::{ChainLine, LineKind, ParsedLine};
use super::message_builder::{MessageBuilder, answered_calls};
use super::tree::Tree;
use crate::interchange::lines::{self, text};
use crate::interchange::{
    ImportedEvent, ImportedSession, InterchangeError, Note, SessionInfo, derive_id, title_of,
};

/// Imports a session file. The events describe the session, contain its whole tree of messages, and end at the end of the
/// newest conversation.
///
/// ```
/// use lariat_core::session::SessionFold;
///
/// let file = br#"{"type":"user","uuid":"a","sessionId":"s","message":{"role":"user","content":"hi"}}"#;
/// let imported = lariat_store::interchange::claude::import(file)?;
/// let fold = SessionFold::of(&imported.records(0));
/// assert_eq!(fold.conversation(fold.tip()).0.len(), 1);
/// # Ok::<(), lariat_store::interchange::InterchangeError>(())
/// ```
///
/// # Errors
/// When the file has no chain line. All other problems become notes.
pub fn import(bytes: &[u8]) -> Result<ImportedSession, InterchangeError> {
    let (objects, mut notes) = lines::read(bytes);
    let found = objects.len() + notes.len();
    let (mut chain, mut metadata) = (Vec::new(), Vec::new());
    for object in objects {
        let line = object.number;
        match ChainLine::read(object) {
            ParsedLine::Chain(line) => chain.push(line),
            ParsedLine::Metadata(fields) => metadata.push(fields),
            ParsedLine::Unusable(text) => notes.push(Note { line, text }),
        }
    }
    if !chain.iter().any(|line| line.kind != LineKind::Dropped) {
        return Err(InterchangeError::NoMessages { format: "Claude Code", lines: found });
    }
    let tree = Tree::of(chain, &mut notes);
    let leaf = tree.leaf();
    let mut writer = MessageBuilder::new(&tree);
    let begun = tree.lines().iter().filter_map(|line| line.at).min().unwrap_or_default();
    let mut events = vec![about(&tree, &metadata).event(begun)];
    for path in tree.paths(leaf, &mut notes) {
        for line in path.lines.iter().filter_map(|at| tree.line(*at)) {
            if line.is_message() && !line.hidden && line.message().is_none() {
                notes.push(Note { line: line.number, text: "line has no message".to_owned() });
            }
        }
        events.extend(writer.segment(&path).events());
    }
    let at = events.iter().map(|event| event.at).max().unwrap_or_default();
    let tip = leaf.and_then(|leaf| writer.anchor(leaf));
    events.push(ImportedEvent { at, event: AgentEvent::Rewound { tip } });
    Ok(ImportedSession::new("claude", session_id(&tree, leaf, bytes), events, notes))
}

/// Returns the session id of the conversation's last line: a file can begin with lines of the session it was forked from.
fn session_id(tree: &Tree, leaf: Option<usize>, bytes: &[u8]) -> SessionId {
    let own = |line: &ChainLine| text(&line.fields, "sessionId").map(SessionId::from);
    let leaf = leaf.and_then(|leaf| tree.line(leaf)).and_then(own);
    let any = || tree.lines().iter().rev().find_map(own);
    leaf.or_else(any).unwrap_or_else(|| {
        let hash = blake3::hash(bytes).to_hex();
        SessionId::from(derive_id("session", &[hash.as_str()]).to_string())
    })
}

fn about(tree: &Tree, metadata: &[Map<String, Value>]) -> SessionInfo {
    let lines = || tree.lines().iter().map(|line| &line.fields);
    let last = |name: &str| {
        let mut mentions = lines().chain(metadata).filter_map(|fields| text(fields, name));
        mentions.next_back().map(str::to_owned)
    };
    let latest = |name: &str| metadata.iter().rev().find_map(|fields| text(fields, name)).map(str::to_owned);
    let mut tags: Vec<String> = Vec::new();
    for line in metadata.iter().filter(|line| text(line, "type") == Some("tag")) {
        match text(line, "tag") {
            None => tags.clear(),
            Some(tag) if tags.iter().any(|known| known == tag) => {}
            Some(tag) => tags.push(tag.to_owned()),
        }
    }
    SessionInfo {
        title: last("customTitle")
            .or_else(|| last("aiTitle"))
            .or_else(|| latest("lastPrompt"))
            .or_else(|| latest("summary"))
            .and_then(|title| title_of(&title))
            .or_else(|| tree.lines().iter().find_map(prompt)),
        cwd: lines().find_map(|fields| text(fields, "cwd")).map(str::to_owned),
        git_branch: lines().rev().find_map(|fields| text(fields, "gitBranch")).map(str::to_owned),
        tags,
    }
}

/// Returns the text that the user typed, as far as a line shows it.
fn prompt(line: &ChainLine) -> Option<String> {
    let typed = line.kind == LineKind::User
        && line.fields.get("isCompactSummary") != Some(&Value::Bool(true))
        && answered_calls(line).next().is_none();
    let content = line.message().filter(|_| typed)?.get("content")?;
    let blocks = super::block::blocks(content);
    let typed = |text: &&str| !text.starts_with('<') && !text.starts_with("[Request interrupted by user");
    let text = blocks.iter().filter_map(|block| block.as_text()).map(str::trim_start).find(typed)?;
    title_of(text)
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
