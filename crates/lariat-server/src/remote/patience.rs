//! How long a client waits for a host that sends nothing.
//!
//! A request may take long: a compaction asks a model. So a client that waits asks the host, over another connection, whether it
//! is alive, and gives up only if that has no response either, for example because the process is stopped.

use std::pin::pin;
use std::time::Duration;

use lariat_api::{Problem, ProblemCode};
use tokio::time::{sleep, timeout};

use super::exchange::{Exchange, ExchangeError};
use super::{OutgoingRequest, Remote};
use crate::wire::HEARTBEAT;

/// How many heartbeats a stream may miss.
const MISSED_HEARTBEATS: u32 = 3;

/// How long a client waits for a host that sends nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// How long a request waits before the client asks the host whether it is alive, and how long it waits for that response.
    pub response: Duration,
    /// How long a stream may be silent before the client connects again.
    pub silence: Duration,
}

impl Default for Patience {
    /// 15 seconds for a response, and three heartbeats for a stream.
    fn default() -> Self {
        Self { response: Duration::from_secs(15), silence: HEARTBEAT * MISSED_HEARTBEATS }
    }
}

impl Remote {
    /// Waits for a part of an exchange as long as the host responds to other requests.
    pub(super) async fn while_host_responds<T>(
        &self,
        part: impl Future<Output = Result<T, ExchangeError>>,
    ) -> Result<T, ExchangeError> {
        let mut part = pin!(part);
        loop {
            tokio::select! {
                biased;
                result = &mut part => return result,
                () = sleep(self.patience.response) => self.check_alive().await?,
            }
        }
    }

    async fn check_alive(&self) -> Result<(), ExchangeError> {
        let request =
            OutgoingRequest::get("/v1/host".to_owned()).request().map_err(ExchangeError::Refused)?;
        match timeout(self.patience.response, Exchange::start(&self.socket, request)).await {
            // An answer of any kind shows that the host is alive; the request itself reports a lost connection.
            Ok(_) => Ok(()),
            Err(_) => Err(ExchangeError::Silent(self.silent_host())),
        }
    }

    fn silent_host(&self) -> Problem {
        Problem::new(ProblemCode::Unavailable, "the host does not respond")
            .with_place(self.socket.display().to_string())
            .with_hint(
                "if its process is stopped, continue it; or end it, and the next command starts another",
            )
    }
}
