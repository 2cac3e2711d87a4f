//! Runs a server for the duration of a proof.
//!
//! A server is ready when it prints its address or accepts connections. Invariant: a started server is always
//! stopped.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Printed by our own servers before their address.
const READY: &str = "listening ";
/// Startup timeout. LiteLLM takes half a minute on a slow machine.
const START: Duration = Duration::from_secs(180);

/// A running server process, which is killed on drop.
pub(crate) struct ServerProcess {
    process: Child,
    pub(crate) address: String,
}

impl ServerProcess {
    /// Starts a server that prints `listening ADDRESS`.
    pub(crate) fn start_announced(command: &mut Command) -> Result<Self> {
        let mut service = Self::spawn(command.stdout(Stdio::piped()), String::new())?;
        let output = service.process.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        match line.trim().strip_prefix(READY) {
            Some(address) => address.clone_into(&mut service.address),
            None => bail!("the server did not start; it printed `{}`", line.trim()),
        }
        Ok(service)
    }

    /// Starts a server on a port that was free a moment ago, and waits until it accepts connections.
    pub(crate) fn start_on_port(command: &mut Command, port: u16) -> Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut service = Self::spawn(command.stdout(Stdio::null()), address.to_string())?;
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = service.process.try_wait()? {
                bail!("the server exited ({status})");
            }
            if started.elapsed() > START {
                bail!("the server did not listen within {} seconds", START.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(service)
    }

    fn spawn(command: &mut Command, address: String) -> Result<Self> {
        // Servers that watch their standard input exit with it, even if this process is killed.
        let process = command.stdin(Stdio::piped()).spawn();
        let process = process.with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(Self { process, address })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a port that is not in use.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
