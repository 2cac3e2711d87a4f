//! `lariat sessions tail`: shows the latest events and follows new ones.

use lariat_core::event::Event;
use lariat_core::store::StoreError;
use lariat_service::LocalService;

use super::super::CommandResult;
use super::super::print;
use super::transcript;
use crate::args::sessions::TailArgs;
use crate::exit::Exit;
use crate::problem::Problem;

/// Events per read.
const PAGE: usize = 256;

/// Shows the last events of a session, and new ones with `--follow`.
pub(super) async fn tail(service: &LocalService, args: &TailArgs) -> CommandResult {
    let session_id = service.find(&args.id).await?.session_id;
    let archive = service.archive();
    let head = archive.head(&session_id).await?;
    let mut next = head.saturating_sub(args.lines as u64);
    loop {
        loop {
            let events = archive.read(&session_id, next, PAGE).await?;
            next += events.len() as u64;
            for event in &events {
                show(event, args.json)?;
            }
            if events.len() < PAGE {
                break;
            }
        }
        if !args.follow {
            return Ok(Exit::Done);
        }
        let grown = tokio::select! {
            grown = archive.wait_for_growth(&session_id, next) => grown,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
        };
        match grown {
            Ok(_) => {}
            // The session was deleted.
            Err(StoreError::NotFound(_)) => return Ok(Exit::Done),
            Err(error) => return Err(error.into()),
        }
    }
}

fn show(event: &Event, json: bool) -> Result<(), Problem> {
    if json {
        let text = serde_json::to_string(event)
            .map_err(|error| Problem::new(Exit::Failed, format!("could not write an event: {error}")))?;
        print::out(&format!("{text}\n"));
    } else {
        print::out(&format!("{}\n", transcript::event(event)));
    }
    Ok(())
}
