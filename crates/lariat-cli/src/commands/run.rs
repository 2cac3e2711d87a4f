//! `lariat run`: one task.

use std::io::Write as _;

use lariat_core::event::AgentEvent;
use lariat_core::permission::PermissionDecision;
use lariat_service::{Driving, Prompt, Which};
use serde_json::{Map, Value, json};

use super::Ended;
use crate::args::run::RunArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::world::World;

/// Does one task.
pub(crate) async fn run(world: &World, args: RunArgs) -> Ended {
    let mut visit = world.visit(args.cwd.as_ref());
    visit.flags = flags(&args);
    visit.allow.clone_from(&args.allow);
    visit.deny.clone_from(&args.deny);
    visit.trusting = args.trust;
    let place = world.place(&visit)?;
    let service = if args.ephemeral { world.ephemeral().await? } else { world.service(&place).await? };
    let which = which(&args);
    let session = service.drive(&place, &which, Driving::default()).await?;
    let prompt = args.prompt.or(args.p).ok_or_else(|| Problem::new(Exit::Usage, "there is nothing to do"))?;
    let mut run = session.prompt(Prompt::text(prompt))?;
    while let Some(event) = run.next().await {
        if let AgentEvent::PermissionRequired { request } = &event.event {
            session.respond(request.id, PermissionDecision::deny("Nobody is there to be asked."));
        }
    }
    let output = run.finish().await.map_err(lariat_service::ServiceError::from)?;
    let _ = writeln!(std::io::stdout(), "{}", output.text);
    session.close().await;
    Ok(if output.outcome.is_completed() { Exit::Done } else { Exit::Failed })
}

fn which(args: &RunArgs) -> Which {
    match (&args.resume, &args.fork, args.continue_last) {
        (Some(id), _, _) => Which::Resume(id.clone()),
        (_, Some(id), _) => Which::Fork(id.clone()),
        (_, _, true) => Which::Continue,
        _ => Which::New,
    }
}

/// The settings that flags are.
fn flags(args: &RunArgs) -> Map<String, Value> {
    let mut flags = Map::new();
    let mut limits = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            flags.insert(name.to_owned(), value);
        }
    };
    set("model", args.model.clone().map(Value::from));
    set("mode", args.mode.clone().map(Value::from));
    set("sandbox", args.no_sandbox.then(|| json!({ "enabled": false })));
    let mut cap = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            limits.insert(name.to_owned(), value);
        }
    };
    cap("turns", args.max_turns.map(Value::from));
    cap("cost", args.max_cost.map(Value::from));
    cap("time", args.max_time.clone().map(Value::from));
    if !limits.is_empty() {
        flags.insert("limits".to_owned(), Value::Object(limits));
    }
    flags
}
