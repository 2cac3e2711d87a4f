//! Implements the rule by which Claude Code finds the conversation in a file.
//!
//! It shares no code with import and export, so that their tests can check them against it. The rule: index lines by uuid.
//! Terminals are lines that no line names as parent. The nearest user or assistant line above each terminal is a candidate.
//! Prefer candidates that are not meta, of a side chain or of a team; of those, the latest in the file wins. Its ancestors,
//! except hidden ones, are the conversation.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// A line of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLine {
    /// The uuid of the line.
    pub uuid: String,
    /// `user` or `assistant`.
    pub role: String,
    /// The message, in the format of the Messages API.
    pub message: Value,
}

/// Returns the conversation that Claude Code would show.
///
/// ```
/// let file = br#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"hi"}}
/// {"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","content":[]}}"#;
/// let lines = lariat_store::interchange::claude::read_conversation(file);
/// assert_eq!(lines.iter().map(|line| line.uuid.as_str()).collect::<Vec<_>>(), ["a", "b"]);
/// ```
pub fn read_conversation(bytes: &[u8]) -> Vec<ReadLine> {
    let mut entries: HashMap<String, (usize, Map<String, Value>)> = HashMap::new();
    for (position, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let Ok(Value::Object(fields)) = serde_json::from_slice(line) else { continue };
        let chained = matches!(
            text_field(&fields, "type"),
            Some("user" | "assistant" | "system" | "attachment" | "progress")
        );
        if let Some(uuid) = text_field(&fields, "uuid").filter(|_| chained).map(str::to_owned) {
            entries.insert(uuid, (position, fields));
        }
    }
    let Some(leaf) = leaf(&entries) else { return Vec::new() };
    let mut conversation: Vec<ReadLine> = ancestors(&entries, leaf)
        .filter(|(_, fields)| is_message(fields) && !is_hidden(fields))
        .map(|(uuid, fields)| ReadLine {
            uuid: uuid.to_owned(),
            role: text_field(fields, "type").unwrap_or_default().to_owned(),
            message: fields.get("message").cloned().unwrap_or_default(),
        })
        .collect();
    conversation.reverse();
    conversation
}

type Entries = HashMap<String, (usize, Map<String, Value>)>;

fn leaf(entries: &Entries) -> Option<&str> {
    let parents: HashSet<&str> =
        entries.values().filter_map(|(_, fields)| text_field(fields, "parentUuid")).collect();
    let terminals = entries.keys().filter(|uuid| !parents.contains(uuid.as_str()));
    let candidates = terminals.filter_map(|uuid| {
        let (uuid, fields) = ancestors(entries, uuid).find(|(_, fields)| is_message(fields))?;
        let position = entries.get(uuid)?.0;
        Some((!is_hidden(fields), position, uuid))
    });
    candidates.max().map(|(_, _, uuid)| uuid)
}

/// Returns a line and its ancestors, up to the root, a missing parent or the start of a cycle.
fn ancestors<'a>(
    entries: &'a Entries,
    from: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Map<String, Value>)> {
    let mut seen = HashSet::new();
    let mut next = Some(from);
    std::iter::from_fn(move || {
        let uuid = next.take().filter(|uuid| seen.insert(*uuid))?;
        let (_, fields) = entries.get(uuid)?;
        next = text_field(fields, "parentUuid");
        Some((uuid, fields))
    })
}

fn text_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn is_message(fields: &Map<String, Value>) -> bool {
    matches!(text_field(fields, "type"), Some("user" | "assistant"))
}

fn is_hidden(fields: &Map<String, Value>) -> bool {
    let set = |name: &str| {
        fields.get(name).is_some_and(|flag| *flag != Value::Null && *flag != false && *flag != "")
    };
    set("isMeta") || set("isSidechain") || set("teamName")
}
