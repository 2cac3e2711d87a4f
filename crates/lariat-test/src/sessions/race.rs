//! Two clients answer one ask at the same time. Exactly one wins, and what the winner said happens.

use lariat_api::{
    Action, Answer, Ask, Delivery, Problem, ProblemCode, PromptContent, Receipt, SessionCommand,
};
use lariat_core::event::AgentEvent;
use lariat_core::permission::PermissionDecision;

use super::fold::accepted_command;
use super::model::{Approval, Turn};
use super::script::{Condition, ScriptClient};
use super::stage::Stage;

/// The names of the rounds of one session. A session has only so many, because every position of its journal is checked.
pub(super) const ROUNDS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// Lets two clients answer the same ask: one approves, the other denies. `number` decides who sends first.
pub(super) async fn round(stage: &mut Stage, name: &'static str, number: usize) -> Result<(), String> {
    let turn = Turn::Call { mark: name.to_owned(), approval: Approval::Needed };
    stage.plan(name, &[turn]);
    let content = PromptContent::text(stage.prompt(name));
    stage.accept(ScriptClient::A, Action::Prompt { content, delivery: Delivery::Queue }).await?;
    stage.wait_for(&Condition::Asks(vec![name])).await?;
    let ask = stage.view().await?.asks.into_iter().next().ok_or("no ask waits")?;

    let decisions = [PermissionDecision::Allow, PermissionDecision::deny("not now")];
    let [allow, deny] = decisions.clone().map(|decision| answer(&ask, decision));
    let [allow, deny] = [stage.command(ScriptClient::A, allow), stage.command(ScriptClient::B, deny)];
    let commands = if number.is_multiple_of(2) { [allow, deny] } else { [deny, allow] };
    let [first, second] = commands.each_ref().map(|command| {
        let (host, session, command) = (stage.host.clone(), stage.session.clone(), command.clone());
        tokio::spawn(async move { host.send(&session, command).await })
    });
    let results = [first.await, second.await].map(|result| result.map_err(|error| error.to_string()));
    let [first, second] = results;
    let (winner, loser, problem) = judge(commands, [first?, second?])?;
    stage.counts.commands += 1;
    stage.refused.push(loser.id.clone());
    stage.acknowledged.push(winner.clone());
    let (winner, receipt) = winner;

    stage.wait_for(&Condition::Asks(vec![])).await?;
    stage.finish().await?;
    let journal = stage.journal().await;
    let place = usize::try_from(receipt.seq).ok().and_then(|seq| journal.get(seq));
    let by = place.and_then(accepted_command).filter(|by| by.command_id == winner.id.as_str());
    let by =
        by.ok_or_else(|| format!("the answer {} is not recorded at {}", winner.id, receipt.seq))?.by.as_str();
    if by.is_empty() || !problem.message.contains(by) {
        return Err(format!("`{}` does not name the winner `{by}`", problem.message));
    }
    let mark = stage.name(name);
    let decided: Vec<bool> = journal
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::PermissionDecided { tool_call_id, decision, .. } if tool_call_id.as_str() == mark => {
                Some(decision.scope().is_some())
            }
            _ => None,
        })
        .collect();
    let is_approval = winner.client.as_str() == ScriptClient::A.name();
    if decided != [is_approval] {
        return Err(format!("the winner approved: {is_approval}; the journal decided {decided:?}"));
    }
    let ran = stage.fixture.files().marks().iter().filter(|other| **other == mark).count();
    if ran != usize::from(is_approval) {
        return Err(format!("the winner approved: {is_approval}; the tool call ran {ran} times"));
    }
    Ok(())
}

type AnswerResult = Result<Receipt, Problem>;

/// Exactly one answer won, and the other one was too late.
fn judge(
    [one, two]: [SessionCommand; 2],
    results: [AnswerResult; 2],
) -> Result<((SessionCommand, Receipt), SessionCommand, Problem), String> {
    let (winner, receipt, loser, problem) = match results {
        [Ok(receipt), Err(problem)] => (one, receipt, two, problem),
        [Err(problem), Ok(receipt)] => (two, receipt, one, problem),
        other => return Err(format!("two answers got {other:?}")),
    };
    if problem.code != ProblemCode::AlreadyAnswered {
        return Err(format!("the late answer got {problem:?}"));
    }
    Ok(((winner, receipt), loser, problem))
}

fn answer(ask: &Ask, decision: PermissionDecision) -> Action {
    let answer = Answer::Approval { decision };
    Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer }
}
