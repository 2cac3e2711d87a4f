//! A server for the time of a proof.
//!
//! Owns the child process and how one knows that it listens: it says so, or it can be reached.
//! Invariant: a server that was started is ended, whatever happened in between.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// What a server of ours prints before its address.
const READY: &str = "listening ";
/// Time a server gets to start. LiteLLM takes half a minute on a slow machine.
const START: Duration = Duration::from_secs(180);

/// A running server.
pub(crate) struct Service {
    process: Child,
    pub(crate) address: String,
}

impl Service {
    /// Starts a server that prints `listening ADDRESS`.
    pub(crate) fn announced(command: &mut Command) -> Result<Self> {
        let mut service = Self::spawn(command.stdout(Stdio::piped()), String::new())?;
        let output = service.process.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        match line.trim().strip_prefix(READY) {
            Some(address) => address.clone_into(&mut service.address),
            None => bail!("the server did not start; it said `{}`", line.trim()),
        }
        Ok(service)
    }

    /// Starts a server on a port that was free a moment ago, and waits until it can be reached.
    pub(crate) fn on_port(command: &mut Command, port: u16) -> Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut service = Self::spawn(command.stdout(Stdio::null()), address.to_string())?;
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = service.process.try_wait()? {
                bail!("the server ended by itself ({status})");
            }
            if started.elapsed() > START {
                bail!("the server did not listen within {} seconds", START.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(service)
    }

    fn spawn(command: &mut Command, address: String) -> Result<Self> {
        // Servers that watch their input end with it, also when this process is killed.
        let process = command.stdin(Stdio::piped()).spawn();
        let process = process.with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(Self { process, address })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port nobody listens on.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
