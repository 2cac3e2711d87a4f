//! Imports and exports Claude Code session files.
//!
//! Their format is internal and changes, so the reader is lenient. A file is a tree: *chain lines* (user, assistant, system,
//! attachment, progress) name their parent, the other lines describe the session. [`import`] keeps the whole tree,
//! [`export`] writes a whole journal, and [`read_conversation`] implements the rule of Claude Code's reader separately, so
//! that tests can check both against it.
//!
//! How lines are converted:
//!
//! | Claude Code | Lariat |
//! | --- | --- |
//! | assistant lines of one `message.id` | one reply |
//! | a `tool_result` block of a user line | a tool result |
//! | the other blocks of a user line | a user message |
//! | system, attachment, meta, team and side chain lines | an extension message `claude-code/<type>` that contains the line |
//! | progress | nothing: the import links its children to its parent |
//! | `compact_boundary`, which has no parent | a new start of the conversation |
//!
//! The import improves on the rule in one case. If a reply is split over several lines, the results of its tool calls can be
//! on branches beside the conversation. The rule loses these results, and tool calls without results cannot be sent to the
//! model. The import includes them.

mod block;
mod export;
mod import;
mod journal;
mod line;
mod line_builder;
mod live;
mod message_builder;
mod path;
mod reader;
mod tree;

#[cfg(test)]
mod testing;

pub use export::export;
pub use import::import;
pub use live::{LiveTranscript, ToolCallNames, is_live_line};
pub use path::{file_name, project_dir_name, session_uuid};
pub use reader::{ReadLine, read_conversation};

/// Prefix of the kind of extension messages that contain a Claude Code line.
pub const KIND: &str = "claude-code/";
/// The subtype of system lines that contain an extension message of another kind.
const EXTENSION: &str = "lariat_extension";
/// The subtype of a system line that only makes its parent the end of the conversation.
const TIP: &str = "lariat_tip";
/// The subtype of a system line that starts the conversation again.
const BOUNDARY: &str = "compact_boundary";
