//! The parameters of the editor's requests, and the modes and options of a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ContentBlock;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeParams {
    pub(crate) protocol_version: Value,
    #[serde(default)]
    pub(crate) client_capabilities: ClientCapabilities,
    /// The name of the same in the draft of version 2.
    #[serde(default)]
    pub(crate) capabilities: ClientCapabilities,
}

/// What the editor can do, as far as Lariat uses it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientCapabilities {
    fs: FileCapabilities,
    session: Option<SessionCapabilities>,
    elicitation: Option<ElicitationCapabilities>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FileCapabilities {
    read_text_file: bool,
    write_text_file: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct SessionCapabilities {
    notices: Option<Value>,
    compaction: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ElicitationCapabilities {
    form: Option<Value>,
}

impl ClientCapabilities {
    /// Whether the editor reads files for Lariat, as its user sees them.
    pub(crate) const fn reads_files(&self) -> bool {
        self.fs.read_text_file
    }

    /// Whether the editor saves files for Lariat.
    pub(crate) const fn writes_files(&self) -> bool {
        self.fs.write_text_file
    }

    /// Whether the editor shows notices.
    pub(crate) fn has_notices(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.notices.is_some())
    }

    /// Whether the editor shows compactions.
    pub(crate) fn has_compactions(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.compaction.is_some())
    }

    /// Whether the editor can ask for text.
    pub(crate) fn has_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some())
    }

    /// What an editor can do that speaks the draft of version 2: notices and compactions need no capability there, and
    /// it has no files.
    pub(crate) fn of_draft(self) -> Self {
        let yes = || Some(Value::Object(serde_json::Map::new()));
        Self {
            session: Some(SessionCapabilities { notices: yes(), compaction: yes() }),
            elicitation: self.elicitation,
            fs: FileCapabilities::default(),
        }
    }

    /// An editor that shows notices and compactions and has forms.
    #[cfg(test)]
    pub(crate) fn all() -> Self {
        let form = Some(Value::Object(serde_json::Map::new()));
        Self { elicitation: Some(ElicitationCapabilities { form }), ..Self::default() }.of_draft()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewParams {
    pub(crate) cwd: String,
    #[serde(default)]
    pub(crate) additional_directories: Vec<String>,
    #[serde(default)]
    pub(crate) mcp_servers: Vec<McpServer>,
}

/// Opens a session that exists, with or without its history.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenParams {
    pub(crate) session_id: String,
    #[serde(flatten)]
    pub(crate) at: NewParams,
}

/// A tool server that the editor configured.
#[derive(Debug, Deserialize)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    /// `http` or `sse`; a program without it.
    #[serde(default, rename = "type")]
    pub(crate) transport: Option<String>,
    #[serde(default)]
    pub(crate) url: Option<String>,
    #[serde(default)]
    pub(crate) headers: Vec<NamedValue>,
    #[serde(default)]
    pub(crate) command: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: Vec<NamedValue>,
}

/// A variable or a header.
#[derive(Debug, Deserialize)]
pub(crate) struct NamedValue {
    pub(crate) name: String,
    pub(crate) value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListParams {
    pub(crate) cwd: Option<String>,
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionParams {
    pub(crate) session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptParams {
    pub(crate) session_id: String,
    pub(crate) prompt: Vec<ContentBlock>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetModeParams {
    pub(crate) session_id: String,
    pub(crate) mode_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetConfigParams {
    pub(crate) session_id: String,
    pub(crate) config_id: String,
    pub(crate) value: Value,
}

/// Cancels a request by its id.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelParams {
    pub(crate) request_id: Value,
}

/// The permission modes of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModeState {
    pub(crate) current_mode_id: String,
    pub(crate) available_modes: Vec<SessionMode>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SessionMode {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
}

/// An option of a session with its possible values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigOption {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) category: &'static str,
    /// Always `select`.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) current_value: String,
    pub(crate) options: Vec<ConfigValue>,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ConfigValue {
    pub(crate) value: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
}
