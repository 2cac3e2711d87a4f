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

mod analyzed_call;
mod approval_hash;
mod approvals;
mod arguments;
mod check_context;
mod claims;
mod critical;
mod danger;
mod document;
mod effect;
pub mod hooks;
pub mod instructions;
mod judge;
mod judgement;
mod matched_files;
mod mode;
mod needs;
mod operand;
mod origin;
mod part;
mod path_rule;
mod program;
mod protected;
mod read_only;
mod resolve;
mod rule;
mod rulebook;
mod settings;
mod settings_error;
mod shared_claims;
pub mod shell;
mod shell_rule;
mod state_file;
mod suggest;
mod tool_name;
pub mod trust;
mod wildcard;
mod workspace_reader;

pub use approval_hash::ApprovalHash;
pub use approvals::{Approval, ApprovalStore};
pub use claims::{ClaimGuard, Claims};
pub use document::{Document, Format};
pub use effect::Effect;
pub use judge::{Guard, Query};
pub use judgement::{Cause, GuardDecision, JudgedFile, Judgement, Reason};
pub use mode::{Confinement, Mode};
pub use origin::{Level, Origin};
pub use resolve::{Entry, EntryKind, NoLinks, Resolver, SessionDirectories};
pub use rule::{Rule, Warning};
pub use settings::{Layer, Settings, Trust};
pub use settings_error::{BrokenRestriction, SettingsError};
pub use shared_claims::FileClaimed;
pub use state_file::{StateFile, StateFileError};
pub use tool_name::{foreign_tool_names, tools_named};
