//! Openings: what an approval opens in the sandbox of a command, and what a sandbox blocked.
//!
//! Owns the two data types that cross every layer. A sandbox reports what it blocked as [`Blocked`], each with the
//! [`Opening`] that would have let it through; a permission request carries the openings that an approval grants; the
//! gate hands what was granted to the tool. Invariant: a command gets an opening only by an approval that showed it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that is opened in the sandbox of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Opening {
    /// The data of the repository (`.git`) is writable, so that git can commit. Its configuration, hooks, attributes and
    /// submodules stay protected.
    Git,
    /// The command reaches the network. Services of this machine stay closed.
    Network,
    /// One more path is writable, with all that is below it. The path is absolute.
    Write(String),
    /// The command runs outside of the sandbox.
    Outside,
}

impl Opening {
    /// Reads an opening as a model names it: `git`, `network`, `outside`, or an absolute path to write to.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "git" => Some(Self::Git),
            "network" => Some(Self::Network),
            "outside" => Some(Self::Outside),
            path if path.starts_with('/') && !path.contains('\0') => Some(Self::Write(path.to_owned())),
            _ => None,
        }
    }

    /// The name that [`parse`](Self::parse) reads.
    pub fn name(&self) -> &str {
        match self {
            Self::Git => "git",
            Self::Network => "network",
            Self::Write(path) => path,
            Self::Outside => "outside",
        }
    }
}

/// For a person: what the command may do with it.
impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git => f.write_str("write to the repository (.git, without its configuration and hooks)"),
            Self::Network => f.write_str("use the network"),
            Self::Write(path) => write!(f, "write to {path}"),
            Self::Outside => f.write_str("run outside of the sandbox"),
        }
    }
}

/// What kind of rule blocked something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BlockedBy {
    /// The path is protected: other programs execute or obey what is there.
    Protected,
    /// The path is not in a writable directory.
    NotWritable,
    /// The network is off, or the destination is not on the list.
    Network,
    /// A socket of another program, or a service of this machine.
    LocalService,
    /// A system call that escapes are made of.
    SystemCall,
}

/// One thing that the sandbox blocked while a command ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Blocked {
    /// What the command tried: `writing .git/index.lock`.
    pub what: String,
    /// What blocked it.
    pub by: BlockedBy,
    /// What would have let it through, besides running outside; none where only that would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Opening>,
}

impl Blocked {
    /// Describes one thing that was blocked.
    pub fn new(what: impl Into<String>, by: BlockedBy, opening: Option<Opening>) -> Self {
        Self { what: what.into(), by, opening }
    }

    /// The key of tool results' details under which `bash` lists what was blocked.
    pub const DETAIL: &'static str = "blocked";

    /// Reads what was blocked from the details of a tool result. Entries that cannot be read are left out.
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
    fn every_opening_reads_back_from_its_name_and_from_json() {
        let all = [Opening::Git, Opening::Network, Opening::Outside, Opening::Write("/var/cache".to_owned())];
        for opening in all {
            assert_eq!(Opening::parse(opening.name()), Some(opening.clone()));
            let text = serde_json::to_string(&opening).unwrap();
            assert_eq!(serde_json::from_str::<Opening>(&text).unwrap(), opening, "{text}");
        }
        assert_eq!(Opening::parse("relative/path"), None);
        assert_eq!(Opening::parse("everything"), None);
    }

    #[test]
    fn details_give_what_can_be_read() {
        let blocked = Blocked::new("writing /w/.git/index.lock", BlockedBy::Protected, Some(Opening::Git));
        let details = json!({ "exit_code": 1, "blocked": [blocked, { "what": 7 }] });
        assert_eq!(Blocked::of_details(&details), [blocked]);
        assert_eq!(Blocked::of_details(&json!(null)), []);
    }
}
