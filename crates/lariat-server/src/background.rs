//! Finds the host of a user, or starts it.
//!
//! Invariant: of any number of callers at the same time, one starts a host, and the others wait until it is ready. A lock
//! beside the socket decides who; the kernel releases it if that process ends.

use std::io;
use std::path::Path;
use std::time::Duration;

use lariat_api::{Problem, ProblemCode};
use tokio::time::{sleep, timeout};

use crate::remote::{Remote, RetryPolicy};
use crate::socket_files::{self, LockFile};

/// How often a caller checks whether the host is ready.
const PAUSE: Duration = Duration::from_millis(10);

/// Returns a client of the host that serves `socket`. If none does, calls `start`, which starts one and returns without
/// waiting for it, and waits up to `ready_within` until it responds.
///
/// # Errors
/// If other users can reach the directory of the socket, if `start` fails, or if no host responds in time.
pub async fn connect_or_start(
    socket: &Path,
    ready_within: Duration,
    start: impl Fn() -> io::Result<()>,
) -> Result<Remote, Problem> {
    let probe = Remote::new(socket).with_retry(RetryPolicy::never());
    let slow = || {
        let message = format!("the host did not respond within {} s", ready_within.as_secs());
        Problem::new(ProblemCode::Unavailable, message).with_place(socket.display().to_string())
    };
    let ready = async {
        match is_ready(&probe).await? {
            true => Ok(()),
            false => start_once(&probe, socket, start).await,
        }
    };
    timeout(ready_within, ready).await.map_err(|_| slow())??;
    Ok(Remote::new(socket))
}

/// Asks the host that serves `socket` to stop, and waits up to `gone_within` until it does not respond any more. It hands
/// its sessions over first. Succeeds if there is none.
///
/// # Errors
/// If the host still responds after that time.
pub async fn stop(socket: &Path, gone_within: Duration) -> Result<(), Problem> {
    let probe = Remote::new(socket).with_retry(RetryPolicy::never());
    let stopped = async {
        let host = match probe.stop_host().await {
            Ok(host) => host,
            Err(problem) if problem.code == ProblemCode::Unavailable => return Ok(()),
            Err(problem) => return Err(problem),
        };
        while probe.host().await.is_ok_and(|now| now.pid == host.pid) {
            sleep(PAUSE).await;
        }
        Ok(())
    };
    let slow = |_| {
        let message = format!("the host did not stop within {} s", gone_within.as_secs());
        Problem::new(ProblemCode::Unavailable, message)
            .with_place(socket.display().to_string())
            .with_hint("it waits until its sessions reach a safe point; try again later")
    };
    timeout(gone_within, stopped).await.map_err(slow)?
}

async fn start_once(
    probe: &Remote,
    socket: &Path,
    start: impl Fn() -> io::Result<()>,
) -> Result<(), Problem> {
    let failed = |error: io::Error| {
        Problem::new(ProblemCode::Unavailable, format!("cannot start a host: {error}"))
            .with_place(socket.display().to_string())
    };
    let directory = socket.parent().unwrap_or(socket);
    if !socket_files::private_directory(directory).map_err(failed)? {
        let message = format!("other users can reach the directory `{}`", directory.display());
        let problem = Problem::new(ProblemCode::Forbidden, message);
        return Err(problem.with_hint(format!("run `chmod 700 {}`", directory.display())));
    }
    let lock = LockFile::open(&socket_files::beside(socket, ".start")).map_err(failed)?;
    while !lock.try_lock().map_err(failed)? {
        sleep(PAUSE).await;
    }
    // Another caller may have started it while this one waited for the lock.
    if is_ready(probe).await? {
        return Ok(());
    }
    start().map_err(failed)?;
    while !is_ready(probe).await? {
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Whether a host responds. An error means that waiting does not help.
async fn is_ready(probe: &Remote) -> Result<bool, Problem> {
    match probe.host().await {
        Ok(_) => Ok(true),
        Err(problem) if problem.code == ProblemCode::Unavailable => Ok(false),
        Err(problem) => Err(problem),
    }
}
