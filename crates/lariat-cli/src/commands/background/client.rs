//! Finds or starts the background host, and names sessions and commands.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use lariat_api::{
    Action, ClientName, CommandId, ProblemCode, Receipt, SessionCommand, SessionFilter, SessionView,
    Sessions as _,
};
use lariat_core::id::SessionId;
use lariat_server::background::connect_or_start;
use lariat_server::remote::Remote;
use uuid::Uuid;

use crate::commands::print;
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// How long a new host may take until it responds.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// The longest path that the system accepts for a socket.
const MAX_SOCKET_PATH: usize = 107;

/// The background host of this user.
pub(crate) struct HostConnection {
    pub(crate) remote: Remote,
}

/// The socket of the background host.
pub(super) fn socket(env: &ProcessEnv) -> Result<PathBuf, Problem> {
    let path = env.folders.state.join("host").join("socket");
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        return Err(Problem::new(Exit::Setup, "the path of the background host's socket is too long")
            .at(path.display().to_string())
            .hint(format!("set XDG_STATE_HOME to a shorter path; the limit is {MAX_SOCKET_PATH} bytes")));
    }
    Ok(path)
}

impl HostConnection {
    /// Connects to the host of this user, and starts it if it does not run.
    pub(crate) async fn open(env: &ProcessEnv) -> Result<Self, Problem> {
        let path = socket(env)?;
        let remote = connect_or_start(&path, READY_WITHIN, || start_host(env)).await;
        let remote = remote.map_err(from_protocol)?;
        let host = remote.host().await.map_err(from_protocol)?;
        let is_older = host.is_older_than(env!("CARGO_PKG_VERSION"), program_time());
        if !is_older || host.busy > 0 {
            return Ok(Self { remote });
        }
        // The older host closes its sessions between two steps, and the new one continues them. While a tool runs, the
        // older one keeps them; the next command tries again.
        lariat_server::background::stop(&path, READY_WITHIN).await.map_err(from_protocol)?;
        let remote = connect_or_start(&path, READY_WITHIN, || start_host(env)).await;
        if host.running > 0 {
            let sessions = print::counted(host.running as usize, "running session", "running sessions");
            print::note(&format!("the background host of a newer program took over {sessions}"));
        }
        Ok(Self { remote: remote.map_err(from_protocol)? })
    }

    /// Connects to the host of this user if it runs.
    pub(crate) async fn existing(env: &ProcessEnv) -> Result<Option<Self>, Problem> {
        let remote = Remote::new(socket(env)?).with_retry(lariat_server::remote::RetryPolicy::never());
        match remote.host().await {
            Ok(_) => Ok(Some(Self { remote: Remote::new(socket(env)?) })),
            Err(problem) if problem.code == ProblemCode::Unavailable => Ok(None),
            Err(problem) => Err(from_protocol(problem)),
        }
    }

    /// Finds a session by its id or a unique prefix.
    pub(crate) async fn find(&self, id: &str) -> Result<SessionView, Problem> {
        let whole = SessionId::from(id);
        match self.remote.view(&whole).await {
            Ok(view) => return Ok(view),
            Err(problem) if problem.code == ProblemCode::NotFound => {}
            Err(problem) => return Err(from_protocol(problem)),
        }
        let (mut filter, mut found) = (SessionFilter::default(), Vec::new());
        filter.limit = Some(500);
        loop {
            let page = self.remote.list(filter.clone()).await.map_err(from_protocol)?;
            let ids = page.sessions.into_iter().map(|session| session.archived.session_id);
            found.extend(ids.filter(|known| known.as_str().starts_with(id)));
            filter.page = page.next;
            if filter.page.is_none() {
                break;
            }
        }
        match found.as_slice() {
            [one] if !id.is_empty() => self.remote.view(one).await.map_err(from_protocol),
            [] => Err(Problem::new(Exit::Session, format!("session `{id}` not found"))
                .hint("`lariat sessions list` lists all sessions")),
            _ => {
                let ids: Vec<&str> = found.iter().take(5).map(SessionId::as_str).collect();
                let cause = format!("ambiguous session prefix `{id}`: {}", ids.join(", "));
                Err(Problem::new(Exit::Session, cause).hint("`lariat sessions list` lists all sessions"))
            }
        }
    }

    /// Sends a command to a session.
    pub(crate) async fn send(&self, session_id: &SessionId, action: Action) -> Result<Receipt, Problem> {
        self.remote.send(session_id, new_command(action)).await.map_err(from_protocol)
    }
}

/// When this program was built or installed, in milliseconds since 1970; 0 if that cannot be read.
pub(super) fn program_time() -> u64 {
    let modified = files::modified(Path::new("/proc/self/exe"));
    let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as u64)
}

/// A command of this program with an id of its own.
pub(crate) fn new_command(action: Action) -> SessionCommand {
    SessionCommand::new(CommandId::new(Uuid::new_v4().to_string()), ClientName::new("terminal"), action)
}

/// Starts the host. It leaves the terminal by itself.
#[expect(
    clippy::disallowed_methods,
    reason = "the host is this program, and outlives every supervisor of it"
)]
fn start_host(env: &ProcessEnv) -> std::io::Result<()> {
    let log = env.folders.state.join("host").join("log");
    let log = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    let mut command = Command::new("/proc/self/exe");
    command.args(["host", "serve"]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().map(drop)
}

/// A problem of the protocol, for the user.
pub(crate) fn from_protocol(problem: lariat_api::Problem) -> Problem {
    let exit = match problem.code {
        ProblemCode::NotFound | ProblemCode::Invalid => Exit::Usage,
        ProblemCode::Forbidden => Exit::Setup,
        _ => Exit::Failed,
    };
    let mut shown = Problem::new(exit, problem.message);
    (shown.place, shown.hint) = (problem.place, problem.hint);
    shown
}

/// A problem for a front end; [`from_protocol`] gives its exit code again.
pub(crate) fn to_protocol(problem: Problem) -> lariat_api::Problem {
    let code = match problem.exit {
        Exit::Usage => ProblemCode::Invalid,
        Exit::Setup => ProblemCode::Forbidden,
        _ => ProblemCode::Unavailable,
    };
    let mut shown = lariat_api::Problem::new(code, problem.cause);
    (shown.place, shown.hint) = (problem.place, problem.hint);
    shown
}
