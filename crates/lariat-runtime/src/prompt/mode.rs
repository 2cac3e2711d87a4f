//! What the mode asks of the model. A mode changes while a session goes on, so it is told in notes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::permission::PermissionPolicy;
use lariat_core::tool::Access;

use super::Teller;

const PLAN: &str = "\
Plan mode: nothing may be changed now. Read and think, then propose every change of the plan with `plan_change`, in the order \
they are to be made. The person looks at them and decides; what is approved is carried out afterwards. End with the plan in a \
few sentences.";

/// Tells the model when nothing may be changed, and when that is over.
pub struct ModeNotes {
    policy: Arc<dyn PermissionPolicy>,
    teller: Teller,
}

impl ModeNotes {
    /// Of the mode that a policy is in.
    pub fn new(policy: Arc<dyn PermissionPolicy>) -> Self {
        Self { policy, teller: Teller::default() }
    }
}

impl ContextSource for ModeNotes {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let access = catch_unwind(AssertUnwindSafe(|| self.policy.access())).unwrap_or(Access::Reads);
        let text = if access == Access::Full { "" } else { PLAN };
        let note = self.teller.tell("mode", text, &query.told);
        Box::pin(std::future::ready(note.into_iter().collect()))
    }

    fn only_looks(&self) -> bool {
        true
    }
}
