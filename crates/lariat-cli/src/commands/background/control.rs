//! Commands for one session of the background host: start, stop, steer, queue, interrupt, answer.

use lariat_api::{
    Action, Answer, Ask, AskKind, AskSubject, CreateSession, Delivery, PromptContent, SessionStatus,
    SessionView, Sessions as _,
};
use lariat_core::display;
use lariat_core::permission::PermissionDecision;
use lariat_service::clock::new_session_id;
use lariat_service::{LoadedProject, SessionSelector};
use serde_json::json;

use super::client::{self, HostConnection};
use crate::args::background::{AnswerArgs, MessageArgs, StopArgs};
use crate::args::sessions::SessionsCommand;
use crate::args::task::Task;
use crate::commands::{CommandResult, print};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Characters of an id: enough to identify a session.
const ID: usize = 8;

/// Runs a task in the background: `lariat run --detach`.
pub(crate) async fn detach(
    env: &ProcessEnv,
    place: &LoadedProject,
    task: Task,
    prompt: lariat_service::Prompt,
) -> CommandResult {
    let connection = HostConnection::open(env).await?;
    let view = match &task.which {
        SessionSelector::Resume(id) => connection.find(id).await?,
        SessionSelector::Continue => {
            let newest = env.service(place).await?.newest(place.path()).await?;
            connection.find(newest.session_id.as_str()).await?
        }
        _ => {
            let mut request = CreateSession::new(new_session_id(), place.path().display().to_string());
            let setting =
                |name: &str| task.settings.get(name).and_then(|value| value.as_str()).map(str::to_owned);
            (request.model, request.mode) = (setting("model"), setting("mode"));
            connection.remote.create(request).await.map_err(client::from_protocol)?
        }
    };
    let action = match prompt.text.is_empty() {
        true => Action::Continue,
        false => Action::Prompt { content: PromptContent::text(prompt.text), delivery: Delivery::Queue },
    };
    let receipt = connection.send(&view.session_id, action).await?;
    let id: String = view.session_id.as_str().chars().take(ID).collect();
    if task.output != crate::args::run::Output::Text {
        return print::json(
            &json!({"session_id": view.session_id, "command_id": receipt.command_id, "seq": receipt.seq}),
        );
    }
    print::line(view.session_id.as_str());
    print::note(&format!(
        "runs in the background; `lariat attach {id}` shows it, `lariat stop {id}` stops it"
    ));
    Ok(Exit::Done)
}

/// Carries out the `lariat sessions` commands that need the background host. Returns the others.
pub(crate) async fn session_command(
    env: &ProcessEnv,
    command: SessionsCommand,
) -> Result<CommandResult, Box<SessionsCommand>> {
    Ok(match command {
        SessionsCommand::Steer(args) => send_message(env, &args, Delivery::Steer).await,
        SessionsCommand::Queue(args) => send_message(env, &args, Delivery::Queue).await,
        SessionsCommand::Interrupt(args) => interrupt(env, &args).await,
        SessionsCommand::Approve(args) => answer(env, &args).await,
        other => return Err(Box::new(other)),
    })
}

async fn send_message(env: &ProcessEnv, args: &MessageArgs, delivery: Delivery) -> CommandResult {
    let connection = HostConnection::open(env).await?;
    let view = connection.find(&args.id).await?;
    let content = PromptContent::text(args.words.join(" "));
    let receipt = connection.send(&view.session_id, Action::Prompt { content, delivery }).await?;
    if args.json {
        return print::json(&receipt);
    }
    print::note(match (&view.status, delivery) {
        (SessionStatus::Idle | SessionStatus::Closed, _) => "sent; the session starts to work on it",
        (_, Delivery::Steer) => "sent; the run receives it between tool calls",
        _ => "queued for the end of the run",
    });
    Ok(Exit::Done)
}

async fn interrupt(env: &ProcessEnv, args: &StopArgs) -> CommandResult {
    let connection = HostConnection::open(env).await?;
    let view = connection.find(&args.id).await?;
    let receipt = connection.send(&view.session_id, Action::Interrupt).await?;
    if args.json {
        return print::json(&receipt);
    }
    print::note("interrupted; messages in the queue wait until you continue");
    Ok(Exit::Done)
}

/// Runs `lariat stop`: interrupts the run, and releases the session for other processes.
pub(crate) async fn stop(env: &ProcessEnv, args: &StopArgs) -> CommandResult {
    let Some(connection) = HostConnection::existing(env).await? else {
        return Err(Problem::new(Exit::Usage, "no session runs in the background")
            .hint("`lariat ps` lists the sessions of the background host"));
    };
    let view = connection.find(&args.id).await?;
    let runs = matches!(
        view.status,
        SessionStatus::Running | SessionStatus::RequiresAction | SessionStatus::Interrupted
    );
    if runs {
        connection.send(&view.session_id, Action::Interrupt).await?;
    }
    let receipt = connection.send(&view.session_id, Action::Close).await?;
    if args.json {
        return print::json(&receipt);
    }
    print::note(if runs { "stopped" } else { "the session did not run; released it" });
    Ok(Exit::Done)
}

async fn answer(env: &ProcessEnv, args: &AnswerArgs) -> CommandResult {
    let connection = HostConnection::open(env).await?;
    let view = connection.find(&args.id).await?;
    let ask = choose(&view, args.ask.as_deref())?;
    let answer = match &args.answer {
        _ if args.deny => Answer::Decline { reason: args.reason.clone() },
        Some(text) => text_answer(ask, text)?,
        None => approval(ask, args.session)?,
    };
    let action = Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer };
    let receipt = connection.send(&view.session_id, action).await?;
    if args.json {
        return print::json(&receipt);
    }
    let done = match (args.deny, args.answer.is_some()) {
        (true, _) => "denied",
        (_, true) => "answered",
        _ => "allowed",
    };
    print::note(&format!("{done}: {}", summary(ask)));
    Ok(Exit::Done)
}

/// The only question, or the one with this id.
fn choose<'a>(view: &'a SessionView, id: Option<&str>) -> Result<&'a Ask, Problem> {
    let wanted: Vec<&Ask> =
        view.asks.iter().filter(|ask| id.is_none_or(|id| ask.id.as_str().starts_with(id))).collect();
    match wanted.as_slice() {
        [ask] => Ok(ask),
        [] => Err(Problem::new(Exit::Usage, "the session asks no such question")
            .hint("`lariat ps` shows which sessions ask you")),
        asks => {
            let list: Vec<String> = asks.iter().map(|ask| format!("{}  {}", ask.id, summary(ask))).collect();
            Err(Problem::new(
                Exit::Usage,
                format!("the session asks several questions:\n{}", list.join("\n")),
            )
            .hint("name one: `lariat sessions approve SESSION QUESTION`"))
        }
    }
}

/// The answer that allows what an ask asks for.
fn approval(ask: &Ask, for_session: bool) -> Result<Answer, Problem> {
    Ok(match &ask.subject {
        AskSubject::Approval { .. } if for_session => {
            Answer::Approval { decision: PermissionDecision::AllowSession }
        }
        AskSubject::Approval { .. } => Answer::Approval { decision: PermissionDecision::Allow },
        AskSubject::Plan { changes } => Answer::Plan { approved: changes.clone(), rejected: Vec::new() },
        AskSubject::Budget { request } => Answer::Budget { limits: request.proposed },
        _ => {
            return Err(Problem::new(Exit::Usage, format!("this question needs a text: {}", summary(ask)))
                .hint("answer it with `--answer TEXT`, or decline with `--deny`"));
        }
    })
}

/// The answer to a question of the model.
fn text_answer(ask: &Ask, text: &str) -> Result<Answer, Problem> {
    if ask.subject.kind() != AskKind::Question {
        return Err(Problem::new(Exit::Usage, format!("this question needs no text: {}", summary(ask)))
            .hint("allow without options, or deny with `--deny`"));
    }
    Ok(Answer::Value { value: text.into() })
}

/// What an ask is about, in one line.
fn summary(ask: &Ask) -> String {
    let text = match &ask.subject {
        AskSubject::Approval { request } => match request.agent_path() {
            Some(path) => format!("{path}: {}", request.summary),
            None => request.summary.clone(),
        },
        AskSubject::Plan { changes } => {
            format!("carry out {}", print::counted(changes.len(), "change", "changes"))
        }
        AskSubject::Budget { .. } => "extend the budget".to_owned(),
        AskSubject::Question { text, .. } | AskSubject::Elicitation { text, .. } => text.clone(),
        AskSubject::Login { service, .. } => format!("log in to {service}"),
        _ => "a question of a newer version".to_owned(),
    };
    display::line(text.lines().next().unwrap_or_default()).to_string()
}
