//! JSON schemas of the protocol, for clients in other languages.
//!
//! The checked-in copies are in `docs/api`; a test compares them. Types of the core (events, permission requests)
//! appear as plain JSON: their format is the journal's (`docs/stores.md`).

use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use crate::{
    AskResolved, CreateSession, FileDiff, FileList, Live, LogItem, LogRequest, Problem, Receipt,
    SessionChange, SessionCommand, SessionFilter, SessionPage, SessionView,
};

/// Returns the name and the schema of every type that a client sends or receives.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("ask-resolved", of::<AskResolved>()),
        ("create-session", of::<CreateSession>()),
        ("file-diff", of::<FileDiff>()),
        ("file-list", of::<FileList>()),
        ("live", of::<Live>()),
        ("log-item", of::<LogItem>()),
        ("log-request", of::<LogRequest>()),
        ("problem", of::<Problem>()),
        ("receipt", of::<Receipt>()),
        ("session-change", of::<SessionChange>()),
        ("session-command", of::<SessionCommand>()),
        ("session-filter", of::<SessionFilter>()),
        ("session-page", of::<SessionPage>()),
        ("session-view", of::<SessionView>()),
    ]
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}
