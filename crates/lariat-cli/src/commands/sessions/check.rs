//! `lariat sessions verify` and `repair`.

use lariat_core::archive::{ListQuery, VerificationReport};
use lariat_core::id::SessionId;
use lariat_service::LocalService;
use serde::Serialize;

use super::super::CommandResult;
use super::super::print;
use crate::args::sessions::{RepairArgs, VerifyArgs};
use crate::exit::Exit;

/// The result of verifying a session.
#[derive(Serialize)]
struct VerifyReport {
    session_id: SessionId,
    #[serde(flatten)]
    verdict: VerificationReport,
}

/// The result of repairing a session.
#[derive(Serialize)]
struct RepairReport {
    #[serde(flatten)]
    found: VerifyReport,
    repaired: bool,
}

pub(super) async fn verify(service: &LocalService, args: &VerifyArgs) -> CommandResult {
    let archive = service.archive();
    let sessions: Vec<SessionId> = match &args.id {
        Some(id) => vec![service.find(id).await?.session_id],
        None => archive.list(&ListQuery::default()).await?.into_iter().map(|one| one.session_id).collect(),
    };
    let mut checked = Vec::new();
    for session_id in sessions {
        let verdict = archive.verify(&session_id).await?;
        checked.push(VerifyReport { session_id, verdict });
    }
    let is_sound = checked.iter().all(|one| one.verdict.is_sound());
    if args.json {
        print::json(&checked)?;
    } else {
        checked.iter().for_each(print_report);
        if checked.is_empty() {
            print::note("no sessions yet");
        }
    }
    Ok(if is_sound { Exit::Done } else { Exit::VerificationFailed })
}

pub(super) async fn repair(service: &LocalService, args: &RepairArgs) -> CommandResult {
    let session_id = service.find(&args.id).await?.session_id;
    let verdict = service.archive().repair(&session_id).await?;
    let repaired = !verdict.is_sound();
    let found = VerifyReport { session_id, verdict };
    if args.json {
        return print::json(&RepairReport { found, repaired });
    }
    print_report(&found);
    print::note(if repaired { "repaired; the damaged data was kept in a copy" } else { "no damage found" });
    Ok(Exit::Done)
}

fn print_report(checked: &VerifyReport) {
    let VerifyReport { session_id, verdict } = checked;
    let word = if verdict.is_sound() { "ok" } else { "DAMAGED" };
    print::line(&format!("{session_id}  {word}  {} events intact", verdict.intact));
    for damage in &verdict.damage {
        let place = damage.seq.map(|seq| format!(" at event {seq}")).unwrap_or_default();
        print::line(&format!("  {:?}{place}: {}", damage.kind, damage.note));
    }
}
