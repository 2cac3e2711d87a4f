//! Builds the JSON that a handler receives on its standard input or as the body of the request.

use serde_json::{Map, Value};

use super::HookEvent;

/// An event as handlers receive it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookInput {
    /// The kind of event.
    pub event: HookEvent,
    /// The session.
    pub session_id: String,
    /// The file that contains the transcript of the session.
    pub transcript_path: String,
    /// The working directory.
    pub cwd: String,
    /// The permission mode.
    pub permission_mode: String,
    /// The fields of this kind of event, for example `tool_name`.
    pub fields: Map<String, Value>,
}

impl HookInput {
    /// Creates an event without fields of its own.
    pub fn new(event: HookEvent, session_id: impl Into<String>, cwd: impl Into<String>) -> Self {
        Self {
            event,
            session_id: session_id.into(),
            transcript_path: String::new(),
            cwd: cwd.into(),
            permission_mode: "default".to_owned(),
            fields: Map::new(),
        }
    }

    /// Adds a field.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the JSON that handlers read.
    pub fn to_json(&self) -> Value {
        // A field of the event never replaces one that all events have.
        let mut all = self.fields.clone();
        for (name, value) in [
            ("session_id", &self.session_id),
            ("transcript_path", &self.transcript_path),
            ("cwd", &self.cwd),
            ("permission_mode", &self.permission_mode),
        ] {
            all.insert(name.to_owned(), Value::from(value.as_str()));
        }
        all.insert("hook_event_name".to_owned(), Value::from(self.event.name()));
        Value::Object(all)
    }
}
