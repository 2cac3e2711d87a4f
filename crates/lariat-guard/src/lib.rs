//! Decides which tool calls may run. It executes nothing; the host's sandbox enforces the decisions.
//!
//! The decision depends on the text of a tool call alone: [`shell`] parses a shell command and never executes it to find
//! out. What cannot be decided requires approval and is never allowed.
//!
//! [`Settings`] come from files, each [`Layer`] with its [`Origin`]. A session creates a [`Guard`] from them, and
//! [`Guard::judge`] decides:
//!
//! ```
//! use std::sync::Arc;
//!
//! use lariat_core::tool::ToolEffects;
//! use lariat_guard::{GuardDecision, Guard, Layer, Level, NoLinks, Origin, SessionDirectories, Query, Settings, Trust};
//!
//! let text = r#"{ "permissions": { "deny": ["Read(.env)"], "allow": ["Edit(src/**)"] } }"#;
//! let layer = Layer::claude(text, Origin::file(Level::User, "/people/me/.claude/settings.json"))?;
//! let settings = Settings::merge([layer], Trust::Untrusted);
//! let guard = Guard::new(settings, SessionDirectories::new("/people/me/project", "/people/me"), Arc::new(NoLinks));
//!
//! let arguments = serde_json::json!({ "path": ".env" });
//! let judgement = guard.judge(&Query::new("read_file", &arguments, ToolEffects::READS));
//! assert_eq!(judgement.verdict, GuardDecision::Deny);
//! assert!(judgement.explain().contains("Read(.env)"));
//! # Ok::<(), lariat_guard::SettingsError>(())
//! ```

#[cfg(feature = "rules")]
mod analyzed_call;
#[cfg(feature = "rules")]
mod approval_hash;
#[cfg(feature = "rules")]
mod approvals;
#[cfg(feature = "rules")]
mod arguments;
#[cfg(feature = "rules")]
mod check_context;
#[cfg(feature = "rules")]
mod claims;
#[cfg(feature = "rules")]
mod critical;
#[cfg(feature = "rules")]
mod danger;
#[cfg(feature = "rules")]
mod document;
#[cfg(feature = "rules")]
mod effect;
#[cfg(feature = "rules")]
pub mod hooks;
#[cfg(feature = "rules")]
pub mod instructions;
#[cfg(feature = "rules")]
mod judge;
#[cfg(feature = "rules")]
mod judgement;
#[cfg(feature = "rules")]
mod matched_files;
#[cfg(feature = "rules")]
mod mode;
#[cfg(feature = "rules")]
mod needs;
#[cfg(feature = "rules")]
mod operand;
#[cfg(feature = "rules")]
mod origin;
#[cfg(feature = "rules")]
mod part;
#[cfg(feature = "rules")]
mod path_rule;
#[cfg(feature = "rules")]
mod program;
#[cfg(feature = "rules")]
mod protected;
#[cfg(feature = "rules")]
mod read_only;
pub mod redact;
#[cfg(feature = "rules")]
mod resolve;
#[cfg(feature = "rules")]
mod rule;
#[cfg(feature = "rules")]
mod rulebook;
#[cfg(feature = "rules")]
mod settings;
#[cfg(feature = "rules")]
mod settings_error;
#[cfg(feature = "rules")]
pub mod shell;
#[cfg(feature = "rules")]
mod shell_rule;
#[cfg(feature = "rules")]
mod state_file;
#[cfg(feature = "rules")]
mod suggest;
#[cfg(feature = "rules")]
mod tool_name;
#[cfg(feature = "rules")]
pub mod trust;
#[cfg(feature = "rules")]
mod wildcard;
#[cfg(feature = "rules")]
mod workspace_reader;

#[cfg(feature = "rules")]
pub use approval_hash::ApprovalHash;
#[cfg(feature = "rules")]
pub use approvals::{Approval, ApprovalStore};
#[cfg(feature = "rules")]
pub use claims::{ClaimGuard, Claims, FileClaimed};
#[cfg(feature = "rules")]
pub use document::{Document, Format};
#[cfg(feature = "rules")]
pub use effect::Effect;
#[cfg(feature = "rules")]
pub use judge::{Guard, Query};
#[cfg(feature = "rules")]
pub use judgement::{Cause, GuardDecision, JudgedFile, Judgement, Reason};
#[cfg(feature = "rules")]
pub use mode::{Confinement, Mode};
#[cfg(feature = "rules")]
pub use origin::{Level, Origin};
#[cfg(feature = "rules")]
pub use resolve::{Entry, EntryKind, NoLinks, Resolver, SessionDirectories};
#[cfg(feature = "rules")]
pub use rule::{Rule, Warning};
#[cfg(feature = "rules")]
pub use settings::{Layer, Settings, Trust};
#[cfg(feature = "rules")]
pub use settings_error::{BrokenRestriction, SettingsError};
#[cfg(feature = "rules")]
pub use state_file::StateFileError;
#[cfg(feature = "rules")]
pub use tool_name::{foreign_tool_names, tools_named};
