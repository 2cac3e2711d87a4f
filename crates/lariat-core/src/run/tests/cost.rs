//! Tests that a step costs the same at any length of the conversation.

use super::super::{Effect, HookCall, Input, Run};
use super::harness::Harness;
use super::scenario::*;
use crate::event::AgentEvent;
use crate::time::{Stamp, Timestamp};
use crate::transcript::{Transcript, Window};

/// Maximum number of elements in the open tail of a list; everything before it is shared.
const OPEN_END: usize = 32;

fn talk(messages: u128) -> Transcript {
    let mut transcript = Transcript::new();
    for n in 1..=messages {
        transcript.push_user(old_prompt(n, "hm")).unwrap();
    }
    transcript
}

fn scenario(transcript: Transcript) -> Scenario {
    let mut scenario = Scenario::new("hi").with_hooks().reply(calls(&["a", "b"])).reply(text("done"));
    scenario.transcript = transcript;
    scenario
}

#[test]
fn long_conversation_takes_the_same_steps_as_a_short_one() {
    let course = |length| {
        let mut harness: Harness = scenario(talk(length)).begin();
        while harness.ending.is_none() {
            harness.step();
        }
        (harness.log, harness.inputs, harness.journal.len())
    };
    assert_eq!(course(10), course(100_000));
}

#[test]
fn long_conversation_is_shared_not_copied() {
    const LENGTH: usize = 100_000;
    let transcript = talk(LENGTH as u128);
    let base: Window = transcript.window();
    let Scenario { config, start, prompts, .. } = scenario(Transcript::new());
    let mut run = Run::new(config.into(), start, 0, transcript, prompts).unwrap();
    let stamp = Stamp { now: Timestamp::from_millis(1), entropy: 1 };
    let mut windows = 0;
    let mut check = |window: &Window| {
        assert!(window.len() >= LENGTH);
        assert!(window.shared_prefix(&base) >= LENGTH - OPEN_END);
        windows += 1;
    };
    let mut inputs = vec![Input::Begin];
    while let Some(input) = inputs.pop() {
        run.handle(input, stamp);
        while let Some(effect) = run.next_effect() {
            match effect {
                Effect::Hook(HookCall::BeforeLoop { window, .. } | HookCall::BeforeTurn { window, .. }) => {
                    check(&window);
                    inputs.push(Input::HookAnswered { proceed: true });
                }
                Effect::Hook(HookCall::AfterLoop { window, .. } | HookCall::AfterTurn { window, .. }) => {
                    check(&window)
                }
                Effect::CallModel { op, window, .. } => {
                    check(&window);
                    let signal = done(crate::message::StopReason::Stop);
                    inputs.push(Input::Model { op, signal });
                }
                Effect::Record(record) => {
                    // The size of a record grows with the turn, never with the conversation.
                    let size = serde_json::to_vec(&record).unwrap().len();
                    assert!(size < 1_000, "{size} bytes of {:?}", record.event);
                    if let AgentEvent::AgentEnd { messages, .. } = &record.event {
                        assert_eq!(messages.len(), 2);
                    }
                }
                _ => {}
            }
        }
    }
    assert!(run.is_finished());
    assert_eq!(windows, 5, "two callbacks each for loop and turn, and the model call");
}
