//! Notes about the permission mode, which can change during a session.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::permission::PermissionPolicy;
use lariat_core::tool::Access;

use super::NoteWriter;

const PLAN: &str = "\
Plan mode: nothing may be changed now. Read and think, then propose every change of the plan with `plan_change`, in the order in which \
they should be made. The user reviews them and decides; approved changes are carried out afterwards. End with the plan in a \
few sentences.";

/// Tells the model when plan mode starts and ends.
pub struct ModeNotes {
    policy: Arc<dyn PermissionPolicy>,
    teller: NoteWriter,
}

impl ModeNotes {
    /// Creates notes about the mode of a policy.
    pub fn new(policy: Arc<dyn PermissionPolicy>) -> Self {
        Self { policy, teller: NoteWriter::default() }
    }
}

impl ContextSource for ModeNotes {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let access = catch_unwind(AssertUnwindSafe(|| self.policy.access())).unwrap_or(Access::Reads);
        let text = if access == Access::Full { "" } else { PLAN };
        let note = self.teller.note("mode", text, &query.told);
        Box::pin(std::future::ready(note.into_iter().collect()))
    }

    fn is_read_only(&self) -> bool {
        true
    }
}
