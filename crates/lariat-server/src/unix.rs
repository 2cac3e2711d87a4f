//! Serves the routes on a Unix socket that only the same user can reach.
//!
//! Invariants: one host per socket, decided by a lock that the kernel releases when the host ends, however it ends; a
//! socket without a host is replaced only by the process that holds that lock; a peer of another user gets no
//! response. Three things keep other users out: the directory has the mode 0700, the socket 0600, and the kernel names the
//! user of every peer.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use lariat_api::Principal;
use lariat_core::cancel::CancellationToken;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::socket_files::{self, FileIdentity, FoundFile, LockFile};

/// The most connections at a time. Further clients wait in the queue of the kernel.
const MAX_CONNECTIONS: usize = 512;

/// How long a host that stops waits for requests that it is handling.
const GRACE: Duration = Duration::from_secs(5);

/// How long the host waits after it could not accept a connection, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often a new host checks whether the previous one is gone.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Why a host cannot serve a socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another host serves the socket.
    #[error("another host serves `{}`", .0.display())]
    AlreadyRunning(PathBuf),
    /// Another process holds the lock and does not accept connections. It starts or stops.
    #[error("another host holds the lock of `{}` and does not respond", .0.display())]
    LockHeld(PathBuf),
    /// Other users could reach the directory of the socket.
    #[error("other users can reach the directory `{}`; run `chmod 700` on it, or choose another", .0.display())]
    DirectoryNotPrivate(PathBuf),
    /// The path names a file that is not a socket.
    #[error("`{}` exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// The system refused.
    #[error("cannot serve `{}`: {}", .0.display(), .1)]
    Io(PathBuf, #[source] io::Error),
}

/// The socket of a host, ready to accept connections. Dropping it without [`Self::serve`] leaves a socket that the
/// next host replaces.
#[derive(Debug)]
pub struct HostSocket {
    // Dropped first, so that no client connects when the lock is free.
    listener: UnixListener,
    path: PathBuf,
    identity: FileIdentity,
    _lock: LockFile,
}

impl HostSocket {
    /// Creates the socket, and its directory if it is missing. Replaces a socket that no host serves. Waits up to `wait`
    /// for a previous host that is stopping.
    ///
    /// # Errors
    /// If another host serves the socket, if other users can reach its directory, or if the system refuses.
    pub async fn bind(path: &Path, wait: Duration) -> Result<Self, BindError> {
        let refused = |error| BindError::Io(path.to_owned(), error);
        let directory = path.parent().unwrap_or(path);
        if !socket_files::private_directory(directory).map_err(refused)? {
            return Err(BindError::DirectoryNotPrivate(directory.to_owned()));
        }
        let lock = LockFile::open(&socket_files::beside(path, ".lock")).map_err(refused)?;
        let held = timeout(wait, hold(&lock, path)).await;
        held.map_err(|_| BindError::LockHeld(path.to_owned()))??;
        // The lock is ours, so no host serves a socket at this path.
        match socket_files::find(path).map_err(refused)? {
            FoundFile::Nothing => {}
            FoundFile::Socket(_) => socket_files::remove(path).map_err(refused)?,
            FoundFile::Other => return Err(BindError::NotASocket(path.to_owned())),
        }
        let listener = UnixListener::bind(path).map_err(refused)?;
        socket_files::make_private(path).map_err(refused)?;
        match socket_files::find(path).map_err(refused)? {
            FoundFile::Socket(identity) => {
                Ok(Self { listener, path: path.to_owned(), identity, _lock: lock })
            }
            _ => Err(BindError::NotASocket(path.to_owned())),
        }
    }

    /// Serves the router until `stop` is cancelled. Then it accepts no more connections, removes the socket, waits a few
    /// seconds for the requests that it is handling, and releases the lock for the next host. Streams end when the token
    /// that [`router`](crate::routes::router) received is cancelled, which should be the same one.
    ///
    /// Dropping the future ends every connection at once, and leaves the socket to the next host.
    pub async fn serve(self, router: Router, principal: Principal, stop: CancellationToken) {
        let Self { listener, path, identity, _lock } = self;
        let service = TowerToHyperService::new(router.layer(Extension(principal)));
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = accept(&listener), if connections.len() < MAX_CONNECTIONS => {
                    let mut builder = http1::Builder::new();
                    builder.timer(TokioTimer::new());
                    let connection = builder.serve_connection(TokioIo::new(accepted), service.clone());
                    connections.spawn(graceful.watch(connection));
                }
            }
        }
        // The lock is still ours, so a socket of another identity is not the work of a host. Leave it alone.
        if socket_files::find(&path).is_ok_and(|found| found == FoundFile::Socket(identity)) {
            let _ = socket_files::remove(&path);
        }
        // Only now, so that the socket of a host that does not respond any more is gone.
        drop(listener);
        let _ = timeout(GRACE, graceful.shutdown()).await;
        connections.shutdown().await;
    }
}

/// Returns the principal of this user: `user:NAME`, or `uid:NUMBER` without a name.
pub fn principal(name: Option<&str>) -> Principal {
    Principal::new(match name {
        Some(name) => format!("user:{name}"),
        None => format!("uid:{}", socket_files::own_uid()),
    })
}

/// Waits until this process holds the lock, unless a host that is alive holds it.
async fn hold(lock: &LockFile, path: &Path) -> Result<(), BindError> {
    loop {
        if lock.try_lock().map_err(|error| BindError::Io(path.to_owned(), error))? {
            return Ok(());
        }
        if UnixStream::connect(path).await.is_ok() {
            return Err(BindError::AlreadyRunning(path.to_owned()));
        }
        sleep(LOCK_PAUSE).await;
    }
}

/// Returns the next connection of this user. Closes those of other users.
async fn accept(listener: &UnixListener) -> UnixStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) if is_own(&stream) => return stream,
            Ok(_) => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Whether the process at the other end belongs to this user. Unknown means no.
pub(crate) fn is_own(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| is_permitted(peer.uid(), socket_files::own_uid()))
}

/// Whether a host of the user `own` talks to the user `peer`. This includes the superuser, whose sessions are its own.
const fn is_permitted(peer: u32, own: u32) -> bool {
    peer == own
}

#[cfg(test)]
mod tests {
    use super::is_permitted;

    #[test]
    fn permits_only_the_same_user() {
        assert!(is_permitted(1000, 1000));
        for (peer, own) in [(0, 1000), (1000, 0), (1001, 1000), (u32::MAX, 1000)] {
            assert!(!is_permitted(peer, own), "{peer} at {own}");
        }
    }
}
