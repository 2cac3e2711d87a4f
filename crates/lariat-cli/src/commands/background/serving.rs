//! `lariat host`: runs, shows and stops the background host.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_api::{AskPolicy, Principal, Sessions};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::time::Timestamp;
use lariat_server::Host;
use lariat_server::routes::router;
use lariat_server::unix::{self, HostSocket};
use lariat_service::clock;
use lariat_service::{HostOptions, LoadOptions, Local, ProjectAgents};

use super::client::{self, HostConnection};
use crate::args::background::{HostArgs, HostCommand};
use crate::commands::{CommandResult, print};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// How long a new host waits for the previous one to end.
const BIND_WAIT: Duration = Duration::from_secs(15);
/// How long a host that stops waits for tools to end. The next host continues the runs, and tells their models which tools
/// were interrupted.
const STOP_WAIT: Duration = Duration::from_secs(10);
/// How often the host checks whether it has work.
const CHECK: Duration = Duration::from_secs(1);
/// How old an interrupted session may be that a new host continues.
const RECOVER_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs `lariat host`.
pub(crate) async fn host(env: &ProcessEnv, args: HostArgs) -> CommandResult {
    match args.command {
        HostCommand::Serve { idle } => serve(env, Duration::from_secs(idle)).await,
        HostCommand::Status { json } => status(env, json).await,
        HostCommand::Stop => {
            let Some(_) = HostConnection::existing(env).await? else {
                print::note("the background host does not run");
                return Ok(Exit::Done);
            };
            let stopped = lariat_server::background::stop(&client::socket(env)?, BIND_WAIT + STOP_WAIT).await;
            stopped.map_err(client::from_protocol)?;
            print::note("stopped the background host");
            Ok(Exit::Done)
        }
    }
}

async fn status(env: &ProcessEnv, json: bool) -> CommandResult {
    let host = match HostConnection::existing(env).await? {
        Some(connection) => Some(connection.remote.host().await.map_err(client::from_protocol)?),
        None => None,
    };
    if json {
        return print::json(&host);
    }
    match host {
        Some(host) => {
            print::field("version", &host.version);
            print::field("process", &host.pid.to_string());
            print::field("running", &print::counted(host.running as usize, "session", "sessions"));
            print::field("busy", &print::counted(host.busy as usize, "session", "sessions"));
        }
        None => print::note("the background host does not run; `lariat run --detach` starts it"),
    }
    Ok(Exit::Done)
}

/// The sessions of this user, and when a client last used them.
struct BackgroundHost {
    local: Local,
    stop: CancellationToken,
    last_used: AtomicU64,
    /// When the program was installed, read at the start: a later program may have replaced its file.
    program_time: u64,
    /// The task that waits for tools before the host stops.
    stopping: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

impl BackgroundHost {
    fn touch(&self) {
        self.last_used.store(clock::now().as_millis(), Ordering::Relaxed);
    }

    /// Ends the host after a time without runs and clients.
    async fn end_when_idle(self: Arc<Self>, idle: Duration) {
        loop {
            tokio::time::sleep(CHECK).await;
            if self.local.in_use() > 0 {
                self.touch();
            }
            let since = Timestamp::from_millis(self.last_used.load(Ordering::Relaxed));
            if clock::now().since(since) >= idle {
                self.stop.cancel();
                return;
            }
        }
    }
}

impl Host for BackgroundHost {
    fn sessions_for(&self, principal: &Principal) -> Arc<dyn Sessions> {
        self.touch();
        Arc::new(self.local.for_principal(principal.clone()))
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn running(&self) -> u64 {
        self.local.running() as u64
    }

    fn busy(&self) -> BoxFuture<'_, u64> {
        Box::pin(async { self.local.busy().await as u64 })
    }

    fn program_time(&self) -> u64 {
        self.program_time
    }

    fn stop(&self) {
        let (local, stop) = (self.local.clone(), self.stop.clone());
        let waiting = tokio::spawn(async move {
            let ended = async {
                while local.busy().await > 0 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            let _ = tokio::time::timeout(STOP_WAIT, ended).await;
            stop.cancel();
        });
        *self.stopping.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    }
}

async fn serve(env: &ProcessEnv, idle: Duration) -> CommandResult {
    // Leave the terminal, so that closing it does not end the host. Fails if a shell started it as a job, which is fine.
    let _ = rustix::process::setsid();
    let path = client::socket(env)?;
    let socket = HostSocket::bind(&path, BIND_WAIT).await;
    let socket = socket.map_err(|error| {
        Problem::new(Exit::Failed, error.to_string()).hint("`lariat host status` shows the host that runs")
    })?;
    // Only the settings of the user decide about the host; each session has those of its directory.
    let home = if env.folders.home.is_dir() { env.folders.home.as_path() } else { Path::new("/") };
    let mut options = LoadOptions::new(home);
    (options.environment, options.distrusting) = (env.settings(), true);
    let place = env.load_project(&options)?;
    let service = env.service(&place).await?;
    let principal = unix::principal(env.variable("USER"));
    let mut options = HostOptions::default();
    // A user can attach and answer at any time; `lariat ps` shows what waits.
    options.ask_policy = AskPolicy::Wait;
    let local = ProjectAgents::new(service, env.settings()).into_host(principal.clone(), options);
    let stop = CancellationToken::new();
    let host = Arc::new(BackgroundHost {
        local: local.clone(),
        stop: stop.clone(),
        last_used: AtomicU64::new(0),
        program_time: client::program_time(),
        stopping: Mutex::new(None),
    });
    host.touch();
    tokio::spawn(Arc::clone(&host).end_when_idle(idle));
    tokio::spawn(async move {
        let since = Timestamp::from_millis(
            clock::now().as_millis().saturating_sub(RECOVER_WITHIN.as_millis() as u64),
        );
        match local.recover_interrupted(since).await {
            Ok(recovered) => {
                recovered.iter().for_each(|id| print::note(&format!("continued session {id}")));
            }
            Err(problem) => print::note(&format!("cannot continue interrupted sessions: {problem}")),
        }
    });
    let signals = stop.clone();
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        signals.cancel();
    });
    socket.serve(router(host, stop.clone()), principal, stop).await;
    Ok(Exit::Done)
}
