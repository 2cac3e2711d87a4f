//! Pages that the program around the client provides: what no session reports and the machine of the session knows.
//!
//! A client without them, such as one of a session on another machine, says so when the user asks for one.

use lariat_api::{Problem, SessionView};
use lariat_core::BoxFuture;

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Page {
    /// The permission mode and the rules in force.
    Permissions,
    /// Checks of the setup, with fixes.
    Doctor,
    /// The configured MCP servers.
    Servers,
    /// The configured APIs.
    Apis,
    /// What a compaction would free.
    Compaction {
        /// What the summary should keep in detail.
        focus: Option<String>,
    },
    /// Exports the session to a file. The text of the page says where it is.
    Export {
        /// The file; the program chooses one without it.
        path: Option<String>,
    },
}

impl Page {
    /// Its title in the pager.
    pub const fn title(&self) -> &'static str {
        match self {
            Self::Permissions => "Permissions",
            Self::Doctor => "Doctor",
            Self::Servers => "MCP servers",
            Self::Apis => "APIs",
            Self::Compaction { .. } => "Compact the conversation?",
            Self::Export { .. } => "Export",
        }
    }

    /// The command that opens it.
    pub const fn command(&self) -> &'static str {
        match self {
            Self::Permissions => "permissions",
            Self::Doctor => "doctor",
            Self::Servers => "mcp",
            Self::Apis => "openapi",
            Self::Compaction { .. } => "compact",
            Self::Export { .. } => "share",
        }
    }
}

/// Where pages come from.
pub trait Pages: Send + Sync {
    /// Returns the text of a page about the session, if it is open, for a terminal of this width. The client neutralises it.
    ///
    /// # Errors
    /// If the page cannot be made.
    fn page<'a>(
        &'a self,
        page: &'a Page,
        session: Option<&'a SessionView>,
        width: usize,
    ) -> BoxFuture<'a, Result<String, Problem>>;
}
