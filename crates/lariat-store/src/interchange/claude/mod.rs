//! Claude Code's session files, both ways.
//!
//! Their format is internal and changes; this reader takes what it finds. A file is a tree: *chain lines* (user,
//! assistant, system, attachment, progress) name their parent, the other lines are about the session. [`import`] keeps
//! the whole tree, [`export`] writes a whole journal, and [`read_conversation`] is the rule of the official reader, on
//! its own, so that both can be judged by it.
//!
//! What becomes of a line:
//!
//! | there | here |
//! | --- | --- |
//! | assistant lines of one `message.id` | one reply |
//! | a `tool_result` block of a user line | a tool result |
//! | the other blocks of a user line | a user message |
//! | system, attachment, and what is meta, of a team or of a side chain | an extension message `claude-code/<type>` that holds the line |
//! | progress | nothing: the chain is healed over it |
//! | `compact_boundary`, which has no parent | the conversation begins anew there |
//!
//! One thing is done better than the rule says. A reply that is split over several lines can have the results of its
//! calls on branches beside the conversation; the rule loses these, and calls without results cannot be sent. An
//! import takes them in.

mod block;
mod export;
mod import;
mod journal;
mod line;
mod path;
mod reader;
mod tree;
mod writer;
mod written;

#[cfg(test)]
mod testing;

pub use export::export;
pub use import::import;
pub use path::{file_name, project_folder, session_uuid};
pub use reader::{ReadLine, read_conversation};

/// Extension messages that hold a line of theirs have a kind that begins so.
pub const KIND: &str = "claude-code/";
/// The subtype of system lines that hold an extension message of another kind.
const EXTENSION: &str = "lariat_extension";
/// The subtype of a system line whose only purpose is that its parent is found as the end of the conversation.
const TIP: &str = "lariat_tip";
/// The subtype of a system line where a conversation begins anew.
const BOUNDARY: &str = "compact_boundary";
