//! Sandbox openings: what an approval allows a command beyond its sandbox, and what the sandbox blocked.
//!
//! A sandbox reports what it blocked as [`BlockedAction`], each entry with the [`SandboxOpening`] that would have allowed
//! it. A permission request lists the openings that an approval grants, and the gate passes the granted ones
//! to the tool. Invariant: a command gets an opening only through an approval that showed it to the user.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One exception that a command's sandbox makes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SandboxOpening {
    /// The repository data (`.git`) is writable, so that git can commit. Its configuration, hooks, attributes
    /// and submodules stay protected.
    Git,
    /// The command can use the network, including services on this machine.
    Network,
    /// One more absolute path is writable, with everything below it.
    Write(String),
    /// The command runs unsandboxed.
    Outside,
}

impl SandboxOpening {
    /// Parses an opening as the model writes it: `git`, `network`, `outside`, or an absolute path to write
    /// to.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "git" => Some(Self::Git),
            "network" => Some(Self::Network),
            "outside" => Some(Self::Outside),
            path if path.starts_with('/') && !path.contains('\0') => Some(Self::Write(path.to_owned())),
            _ => None,
        }
    }

    /// Returns the name that [`parse`](Self::parse) accepts.
    pub fn name(&self) -> &str {
        match self {
            Self::Git => "git",
            Self::Network => "network",
            Self::Write(path) => path,
            Self::Outside => "outside",
        }
    }
}

/// Describes to the user what the command may do.
impl fmt::Display for SandboxOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git => f.write_str("write to the repository (.git, without its configuration and hooks)"),
            Self::Network => f.write_str("use the network, including services on this machine"),
            Self::Write(path) => write!(f, "write to {path}"),
            Self::Outside => f.write_str("run outside the sandbox"),
        }
    }
}

/// Which restriction blocked an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BlockedBy {
    /// The path is protected, because other programs execute or trust its content.
    Protected,
    /// The path is not in a writable directory.
    NotWritable,
    /// The network is disabled, or the destination is not on the list.
    Network,
    /// A socket of another program, or a service on this machine.
    LocalService,
    /// A system call that sandbox escapes use.
    SystemCall,
}

/// One action that the sandbox blocked while a command ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BlockedAction {
    /// The blocked action, for example `writing .git/index.lock`.
    pub what: String,
    /// The restriction that blocked it.
    pub by: BlockedBy,
    /// The opening that would have allowed it; none if only running unsandboxed would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<SandboxOpening>,
}

impl BlockedAction {
    /// Describes one blocked action.
    pub fn new(what: impl Into<String>, by: BlockedBy, opening: Option<SandboxOpening>) -> Self {
        Self { what: what.into(), by, opening }
    }

    /// Key in the details of a tool result under which `bash` lists blocked actions.
    pub const DETAIL: &'static str = "blocked";

    /// Reads the blocked actions from the details of a tool result. Skips entries that cannot be parsed.
    pub fn of_details(details: &Value) -> Vec<Self> {
        let list = details.get(Self::DETAIL).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_opening_round_trips_through_its_name_and_json() {
        let all = [
            SandboxOpening::Git,
            SandboxOpening::Network,
            SandboxOpening::Outside,
            SandboxOpening::Write("/var/cache".to_owned()),
        ];
        for opening in all {
            assert_eq!(SandboxOpening::parse(opening.name()), Some(opening.clone()));
            let text = serde_json::to_string(&opening).unwrap();
            assert_eq!(serde_json::from_str::<SandboxOpening>(&text).unwrap(), opening, "{text}");
        }
        assert_eq!(SandboxOpening::parse("relative/path"), None);
        assert_eq!(SandboxOpening::parse("everything"), None);
    }

    #[test]
    fn blocked_actions_skip_unreadable_details() {
        let blocked =
            BlockedAction::new("writing /w/.git/index.lock", BlockedBy::Protected, Some(SandboxOpening::Git));
        let details = json!({ "exit_code": 1, "blocked": [blocked, { "what": 7 }] });
        assert_eq!(BlockedAction::of_details(&details), [blocked]);
        assert_eq!(BlockedAction::of_details(&json!(null)), []);
    }
}
