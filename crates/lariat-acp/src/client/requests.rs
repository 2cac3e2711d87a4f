//! Writes what Lariat sends to an agent: requests in their order, and the answers to the agent's own requests.

use serde_json::{Value, json};

use super::messages::{AgentError, AgentLine, PermissionChoice, read, text};
use crate::wire::{Protocol, RpcError, request_line, response_line};

/// Our side of a connection to an agent.
#[derive(Debug, Default)]
pub struct Client {
    next_id: u64,
    session: Option<String>,
}

/// How to choose a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelChoice {
    /// Send this request and wait for its response: its method and its parameters.
    Request(&'static str, Value),
    /// The agent offers these models, and not that one.
    Unknown(Vec<String>),
    /// The agent offers no choice.
    NoChoice,
}

impl Client {
    /// Writes a request. Returns its id and its line.
    pub fn request(&mut self, method: &str, params: &Value) -> (u64, String) {
        self.next_id += 1;
        (self.next_id, request_line(Some(self.next_id), method, params))
    }

    /// The parameters of `initialize`. `version` is that of this program.
    pub fn initialize(version: &str) -> Value {
        json!({
            "protocolVersion": Protocol::Stable.version(),
            "clientInfo": { "name": "lariat", "title": "Lariat", "version": version },
            "clientCapabilities": {
                "fs": { "readTextFile": true, "writeTextFile": true },
                "terminal": false,
            },
        })
    }

    /// Checks the version that the agent chose.
    ///
    /// # Errors
    /// Why Lariat cannot talk to it.
    pub fn check_version(result: &Value) -> Result<(), String> {
        match result.get("protocolVersion").and_then(Value::as_u64) {
            Some(version) if version == Protocol::Stable.version() => Ok(()),
            Some(other) => Err(format!("it speaks version {other} of the protocol, and Lariat version 1")),
            None => Err("its response to `initialize` names no version of the protocol".to_owned()),
        }
    }

    /// Takes the session from the response to `session/new`.
    ///
    /// # Errors
    /// If it has none.
    pub fn open(&mut self, result: &Value) -> Result<(), String> {
        let id = text(result, "sessionId").filter(|id| !id.is_empty() && id.len() <= 1024);
        self.session = Some(id.ok_or("its response to `session/new` names no session")?);
        Ok(())
    }

    /// The request that chooses a model, from the response to `session/new`.
    pub fn choose_model(&self, opened: &Value, model: &str) -> ModelChoice {
        let list = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned();
        let session = self.session.as_deref().unwrap_or_default();
        let options = list(opened, "configOptions").unwrap_or_default();
        let option = options.iter().find(|option| text(option, "category").as_deref() == Some("model"));
        let (names, option) = if let Some(option) = option {
            let values = list(option, "options").unwrap_or_default();
            let grouped = values.iter().flat_map(|value| list(value, "options").unwrap_or_default());
            let all = values.iter().cloned().chain(grouped);
            (all.filter_map(|value| text(&value, "value")).collect::<Vec<_>>(), text(option, "id"))
        } else if let Some(models) = opened.get("models") {
            let models = list(models, "availableModels").unwrap_or_default();
            (models.iter().filter_map(|model| text(model, "modelId")).collect(), None)
        } else {
            return ModelChoice::NoChoice;
        };
        let suffix = format!("/{model}");
        let exact = names.iter().find(|name| *name == model);
        let Some(name) = exact.or_else(|| names.iter().find(|name| name.ends_with(&suffix))) else {
            return ModelChoice::Unknown(names);
        };
        match option {
            Some(id) => ModelChoice::Request(
                "session/set_config_option",
                json!({ "sessionId": session, "configId": id, "value": name }),
            ),
            None => {
                ModelChoice::Request("session/set_model", json!({ "sessionId": session, "modelId": name }))
            }
        }
    }

    /// The parameters of `session/prompt`.
    pub fn prompt(&self, prompt: &str) -> Value {
        json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": prompt }] })
    }

    /// The notification that cancels the prompt; `None` without a session.
    pub fn cancel(&self) -> Option<String> {
        let session = self.session.as_ref()?;
        Some(request_line(None, "session/cancel", &json!({ "sessionId": session })))
    }

    /// Reads a line of the agent.
    pub fn receive(&self, line: &[u8]) -> AgentLine {
        read(line, self.session.as_deref())
    }

    /// The response to a request of the agent.
    pub fn respond(id: &Value, result: Result<Value, AgentError>) -> String {
        let refused = |error: AgentError| RpcError { code: error.code, message: error.message, data: None };
        response_line(id, &result.map_err(refused))
    }

    /// The result of a request for permission, from what the agent offers. If it offers no fitting answer, the request is treated as
    /// cancelled. We never choose an approval that the agent would remember: it would not ask about later calls, so our permission check
    /// would not see them.
    pub fn decision(choices: &[PermissionChoice], is_allowed: bool) -> Value {
        let wanted: &[&str] = match is_allowed {
            true => &["allow_once"],
            false => &["reject_once", "reject_always"],
        };
        let found = wanted.iter().find_map(|kind| choices.iter().find(|choice| choice.kind == *kind));
        match found {
            Some(choice) => json!({ "outcome": { "outcome": "selected", "optionId": choice.id } }),
            None => Self::withdrawn(),
        }
    }

    /// The result of a request for permission after the prompt was cancelled.
    pub fn withdrawn() -> Value {
        json!({ "outcome": { "outcome": "cancelled" } })
    }
}

impl AgentError {
    /// A file that cannot be used.
    pub fn file(message: impl Into<String>) -> Self {
        Self { code: -32_002, message: message.into() }
    }

    /// Something that is not permitted, or too much.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { code: -32_603, message: message.into() }
    }
}
