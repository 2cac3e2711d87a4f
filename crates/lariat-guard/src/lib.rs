//! Decides who may do what. Acts on nothing: what is decided here is enforced by the host's sandbox.
//!
//! A call is judged from its words alone: a shell command is read by [`shell`], never executed to find out. What cannot
//! be judged is asked, never allowed.
//!
//! [`Settings`] come from files, each [`Layer`] with its [`Origin`]; a [`Guard`] is made from them for a session, and
//! [`Guard::judge`] is the one way to an answer:
//!
//! ```
//! use std::sync::Arc;
//!
//! use lariat_core::tool::ToolEffects;
//! use lariat_guard::{Decision, Guard, Layer, Level, NoLinks, Origin, Places, Query, Settings, Trust};
//!
//! let text = r#"{ "permissions": { "deny": ["Read(.env)"], "allow": ["Edit(src/**)"] } }"#;
//! let layer = Layer::claude(text, Origin::file(Level::User, "/people/me/.claude/settings.json"))?;
//! let settings = Settings::merge([layer], Trust::Untrusted);
//! let guard = Guard::new(settings, Places::new("/people/me/project", "/people/me"), Arc::new(NoLinks));
//!
//! let arguments = serde_json::json!({ "path": ".env" });
//! let judgement = guard.judge(&Query::new("read_file", &arguments, ToolEffects::READS));
//! assert_eq!(judgement.verdict, Decision::Deny);
//! assert!(judgement.explain().contains("Read(.env)"));
//! # Ok::<(), lariat_guard::SettingsError>(())
//! ```

mod approvals;
mod claims;
mod critical;
mod danger;
pub mod display;
mod document;
mod ground;
pub mod hooks;
mod judge;
mod judgement;
mod kept;
mod mode;
mod needs;
mod operand;
mod origin;
mod part;
mod path_rule;
mod place;
mod program;
mod protected;
mod read_only;
pub mod redact;
mod rule;
mod rulebook;
mod seal;
mod settings;
pub mod shell;
mod shell_rule;
mod suggest;
mod tool_name;
pub mod trust;
mod wildcard;

pub use approvals::{Approval, ApprovalBook};
pub use claims::{Claims, Held, Taken};
pub use document::{Document, Format};
pub use judge::{Guard, Query};
pub use judgement::{Cause, Decision, Judgement, Reason};
pub use kept::KeptError;
pub use mode::{Confinement, Mode};
pub use origin::{Level, Origin};
pub use place::{NoLinks, Places, Resolver};
pub use rule::{Effect, Rule, Warning};
pub use seal::Seal;
pub use settings::{Layer, Settings, SettingsError, Trust};
