//! `lariat replay`: runs a recorded session through the current agent loop and compares the events.

use std::sync::Arc;

use lariat_core::replay::{config_of, replay_session};
use serde::Serialize;

use super::super::CommandResult;
use super::super::print;
use crate::args::sessions::ReplayArgs;
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

#[derive(Serialize)]
struct ReplayReport {
    loop_id: String,
    same: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<ReplayDifference>,
}

#[derive(Serialize)]
struct ReplayDifference {
    seq: Option<u64>,
    recorded: String,
    replayed: String,
}

/// Maximum characters of an event in a difference.
const EVENT: usize = 400;

/// Replays a session. Exits with 8 if the current loop behaves differently.
pub(crate) async fn replay(env: &ProcessEnv, args: ReplayArgs) -> CommandResult {
    let service = super::service(env).await?;
    let session_id = service.find(&args.id).await?.session_id;
    let events = service.events(&session_id).await?;
    let config = Arc::new(config_of(&events));
    let replays: Vec<ReplayReport> = replay_session(&config, &events)
        .into_iter()
        .map(|replay| ReplayReport {
            loop_id: replay.loop_id.to_string(),
            same: replay.same,
            difference: replay.divergence.map(|found| ReplayDifference {
                seq: found.seq,
                recorded: found.recorded,
                replayed: found.replayed,
            }),
        })
        .collect();
    let differs = replays.iter().any(|replay| replay.difference.is_some());
    if args.json {
        print::json(&replays)?;
    } else {
        replays.iter().for_each(print_report);
        if replays.is_empty() {
            print::note("the session has no runs to replay");
        }
    }
    Ok(if differs { Exit::VerificationFailed } else { Exit::Done })
}

fn print_report(replay: &ReplayReport) {
    let Some(difference) = &replay.difference else {
        return print::line(&format!("{}  same, {} events", replay.loop_id, replay.same));
    };
    let place = difference.seq.map_or_else(|| "after the end".to_owned(), |seq| format!("at event {seq}"));
    print::line(&format!("{}  DIFFERS {place}, after {} identical events", replay.loop_id, replay.same));
    print::line(&format!("  recorded: {}", print::abbreviate(&difference.recorded, EVENT)));
    print::line(&format!("  replayed: {}", print::abbreviate(&difference.replayed, EVENT)));
}
