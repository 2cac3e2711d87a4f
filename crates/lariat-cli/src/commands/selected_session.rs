//! Selects the session that a command works on, and finds messages in its conversation.
//!
//! The session is the named one, or else the newest of this directory. Its own directory provides the settings, so that a command
//! means the same wherever it is typed.

use std::path::PathBuf;

use lariat_core::archive::SessionSummary;
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::SharedMessage;
use lariat_core::session::SessionFold;
use lariat_service::{LoadedProject, LocalService, SessionSelector};

use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// A session, the service that stores it, and the settings of its directory.
pub(crate) struct SelectedSession {
    pub(crate) service: LocalService,
    pub(crate) place: LoadedProject,
    pub(crate) session: SessionSummary,
}

impl SelectedSession {
    pub(crate) async fn find(env: &ProcessEnv, id: Option<&str>) -> Result<Self, Problem> {
        let here = env.load_project(&env.load_options(None))?;
        let service = env.service(&here).await?;
        let session = match id {
            Some(id) => service.find(id).await?,
            None => service.newest(here.path()).await?,
        };
        let place = match session.cwd.as_ref().map(PathBuf::from) {
            Some(cwd) if cwd != here.path() => env.load_project(&env.load_options(Some(&cwd)))?,
            _ => here,
        };
        Ok(Self { service, place, session })
    }

    pub(crate) const fn id(&self) -> &SessionId {
        &self.session.session_id
    }

    pub(crate) fn selector(&self) -> SessionSelector {
        SessionSelector::Resume(self.id().to_string())
    }

    /// The state of the session. Fails if a run is active in another process or was interrupted, because the run must end before
    /// the session changes.
    pub(crate) async fn idle_fold(&self) -> Result<SessionFold, Problem> {
        let fold = SessionFold::of(&self.service.events(self.id()).await?);
        if fold.open_loops().next().is_some() {
            self.service.check_writable(self.id()).await?;
            return Err(interrupted(self.id(), "try again"));
        }
        Ok(fold)
    }
}

/// The error for a session whose run was interrupted.
pub(crate) fn interrupted(session_id: &SessionId, then: &str) -> Problem {
    Problem::new(Exit::Session, "the session has an interrupted run")
        .at(session_id.to_string())
        .hint(format!("finish the run with `lariat run --resume {session_id}`, then {then}"))
}

/// The conversation as the model sees it.
pub(crate) fn conversation(fold: &SessionFold, tip: Option<MessageId>) -> Vec<SharedMessage> {
    fold.conversation(tip).0.window().iter().cloned().collect()
}

/// The position of the message with this id or unique prefix.
pub(crate) fn message_position(
    messages: &[SharedMessage],
    prefix: &str,
    session_id: &SessionId,
) -> Result<usize, Problem> {
    let fits: Vec<usize> = (0..)
        .zip(messages)
        .filter(|(_, message)| !prefix.is_empty() && message.id().to_string().starts_with(prefix))
        .map(|(index, _)| index)
        .collect();
    let cause = match fits.as_slice() {
        [one] => return Ok(*one),
        [] => format!("no message id in this conversation starts with `{prefix}`"),
        found => format!("{} message ids start with `{prefix}`", found.len()),
    };
    Err(Problem::new(Exit::Usage, cause)
        .at(session_id.to_string())
        .hint(format!("`lariat sessions show {session_id}` shows the message ids")))
}
