//! Bad turns: well-formed streams of misbehaving models.
//!
//! Positions are the sizes of the chunks of texts and arguments. Each row says which tool calls may run.

use serde_json::{Map, Value, json};

use super::cell::{Cell, TEXT, THINKING, TOOL, arguments, streamed};
use super::fault::{Fault, Group};
use super::frame_edits::{each_object, edited};
use super::outcome::AllowedOutcomes;
use super::plan::{BodyStep, Plan};
use crate::server::{Stop, Turn, render};

const fn fault(name: &'static str, letters: &'static str, plan: fn(&Cell) -> Plan) -> Fault {
    Fault { name, group: Group::Turn, plan, allowed: AllowedOutcomes::always(letters) }
}

/// The faults.
pub const FAULTS: &[Fault] = &[
    fault("nothing wrong", "C", |cell| calling(cell, &arguments().to_string(), &[arguments()])),
    fault("arguments cut off", "i", |cell| {
        let whole = arguments().to_string();
        let end = cell.position.choose([1, 4, 7, 12, 16, 20, whole.len() - 1]);
        calling(cell, whole.get(..end).unwrap_or_default(), &[])
    }),
    fault("arguments that are not JSON", "i", |cell| calling(cell, "look at it please", &[])),
    fault("arguments with something after them", "i", |cell| calling(cell, r#"{"a":1} and more"#, &[])),
    fault("arguments twice", "i", |cell| calling(cell, r#"{"a":1}{"a":1}"#, &[])),
    fault("arguments that are a list", "i", |cell| calling(cell, r#"["a", 1]"#, &[])),
    fault("arguments that are text", "i", |cell| calling(cell, r#""{\"a\":1}""#, &[])),
    fault("arguments that are a number", "i", |cell| calling(cell, "7", &[])),
    // Google sends arguments as JSON: there, an empty string is a string.
    fault("no arguments", "Ci", |cell| calling(cell, "", &[json!({})])),
    fault("arguments that are null", "C", |cell| calling(cell, "null", &[json!({})])),
    fault("arguments with a control character", "Ci", |cell| {
        calling(cell, "{\"a\":\"x\u{1}y\"}", &[json!({"a": "x\u{1}y"})])
    }),
    fault("arguments of 1 MB", "C", |cell| {
        let large = json!({"text": "0123456789abcdef".repeat(1 << 16)});
        let turn = opening().call("call_1", TOOL, &large).piece(cell.position.choose([
            64,
            256,
            1024,
            4096,
            16_384,
            65_536,
            1 << 21,
        ]));
        turn_plan(cell, &turn, vec![large])
    }),
    fault("a call, and `stop`", "C", |cell| {
        chunked_turn_plan(
            cell,
            opening().call("call_1", TOOL, &arguments()).stop(Stop::Stop),
            vec![arguments()],
        )
    }),
    fault("`tool_use` without a call", "C", |cell| {
        chunked_turn_plan(cell, opening().stop(Stop::ToolUse), Vec::new())
    }),
    fault("`length` with a whole call", "C", |cell| {
        chunked_turn_plan(cell, opening().call("call_1", TOOL, &arguments()).stop(Stop::Length), Vec::new())
    }),
    fault("`length` with half a call", "C", |cell| {
        chunked_turn_plan(
            cell,
            opening().call_raw("call_1", TOOL, r#"{"a":{"b"#).stop(Stop::Length),
            Vec::new(),
        )
    }),
    fault("refusal with a call", "C", |cell| {
        chunked_turn_plan(cell, opening().call("call_1", TOOL, &arguments()).stop(Stop::Refusal), Vec::new())
    }),
    fault("refusal", "C", |cell| chunked_turn_plan(cell, opening().stop(Stop::Refusal), Vec::new())),
    // Some providers report this as `length`, others fail.
    fault("context exceeded", "Co", |cell| {
        chunked_turn_plan(cell, opening().stop(Stop::ContextExceeded), Vec::new())
    }),
    fault("context exceeded with a call", "Co", |cell| {
        chunked_turn_plan(
            cell,
            opening().call("call_1", TOOL, &arguments()).stop(Stop::ContextExceeded),
            Vec::new(),
        )
    }),
    fault("no usage", "C", |cell| {
        chunked_turn_plan(
            cell,
            opening().call("call_1", TOOL, &arguments()).without_usage(),
            vec![arguments()],
        )
    }),
    fault("nothing at all", "R", |cell| chunked_turn_plan(cell, Turn::new().model("m-1"), Vec::new())),
    fault("whitespace only", "CR", |cell| {
        chunked_turn_plan(cell, Turn::new().model("m-1").text(" \n\t "), Vec::new())
    }),
    fault("thinking only", "eR", |cell| {
        chunked_turn_plan(cell, Turn::new().model("m-1").thinking(THINKING), Vec::new())
    }),
    fault("a call only", "C", |cell| {
        chunked_turn_plan(
            cell,
            Turn::new().model("m-1").call("call_1", TOOL, &arguments()),
            vec![arguments()],
        )
    }),
    fault("an unknown tool", "C", unknown_tool),
    fault("a call without a name", "i", |cell| {
        chunked_turn_plan(cell, opening().call("call_1", "", &arguments()), Vec::new())
    }),
    fault("two calls with one id", "C", |cell| {
        let turn = opening().call("call_1", TOOL, &arguments()).call("call_1", TOOL, &json!({"b": 2}));
        chunked_turn_plan(cell, turn, vec![arguments(), json!({"b": 2})])
    }),
    fault("calls without ids", "C", |cell| {
        let turn = opening().call("", TOOL, &arguments()).call("", TOOL, &json!({"b": 2}));
        chunked_turn_plan(cell, turn, vec![arguments(), json!({"b": 2})])
    }),
    fault("ids that are numbers", "C", |cell| {
        edited_turn_plan(cell, &|fields| change_ids(fields, &json!(7)), vec![arguments()])
    }),
    fault("ids that are null", "C", |cell| {
        edited_turn_plan(cell, &|fields| change_ids(fields, &Value::Null), vec![arguments()])
    }),
    fault("an id of 10,000 characters", "C", |cell| {
        chunked_turn_plan(cell, opening().call("x".repeat(10_000), TOOL, &arguments()), vec![arguments()])
    }),
    fault("50 calls at once", "C", |cell| {
        let call = |turn: Turn, number: i32| turn.call(format!("call_{number}"), TOOL, &json!({"n": number}));
        let turn = (0..50).fold(opening(), call);
        chunked_turn_plan(cell, turn, (0..50).map(|number| json!({"n": number})).collect())
    }),
    fault("5,000 calls at once", "iR", |cell| {
        let call = |turn: Turn, number: i32| turn.call(format!("call_{number}"), TOOL, &json!({}));
        let turn = (0..5000).fold(opening(), call).piece(10_000);
        turn_plan(cell, &turn, Vec::new())
    }),
    fault("an unknown stop reason", "Cin", |cell| edited_turn_plan(cell, &change_reason, vec![arguments()])),
    fault("a model that repeats its text", "C", |cell| {
        chunked_turn_plan(cell, Turn::new().model("m-1").text("Again and again. ".repeat(2000)), Vec::new())
    }),
];

fn opening() -> Turn {
    Turn::new().model("m-1").thinking(THINKING).text(TEXT)
}

fn turn_plan(cell: &Cell, turn: &Turn, calls: Vec<Value>) -> Plan {
    let body = render::stream(cell.wire, turn).into_iter().map(BodyStep::bytes).collect();
    Plan::new(streamed(cell.wire, body)).complete(calls).tampered()
}

/// A turn in chunks of the position's size.
fn chunked_turn_plan(cell: &Cell, turn: Turn, calls: Vec<Value>) -> Plan {
    turn_plan(cell, &turn.piece(cell.position.choose([1, 2, 3, 5, 8, 13, 10_000])), calls)
}

fn calling(cell: &Cell, arguments: &str, calls: &[Value]) -> Plan {
    chunked_turn_plan(cell, opening().call_raw("call_1", TOOL, arguments), calls.to_vec())
}

/// A turn whose frames were changed after rendering.
fn edited_turn_plan(cell: &Cell, change: &dyn Fn(&mut Map<String, Value>), calls: Vec<Value>) -> Plan {
    let turn = opening().call("call_1", TOOL, &arguments());
    let turn = turn.piece(cell.position.choose([1, 2, 3, 5, 8, 13, 10_000]));
    let edit = |json: &mut Value| each_object(json, change);
    let frames = render::stream(cell.wire, &turn);
    let body = frames.iter().map(|frame| BodyStep::bytes(edited(cell.wire, frame, &edit))).collect();
    Plan::new(streamed(cell.wire, body)).complete(calls).tampered()
}

/// Changes the ids of tool calls: objects with an id and a name, or with the function.
fn change_ids(fields: &mut Map<String, Value>, id: &Value) {
    if !fields.contains_key("name") && !fields.contains_key("function") {
        return;
    }
    for name in ["id", "call_id", "toolUseId"] {
        if let Some(value) = fields.get_mut(name) {
            *value = id.clone();
        }
    }
}

fn change_reason(fields: &mut Map<String, Value>) {
    for name in ["stop_reason", "finish_reason", "finishReason", "stopReason"] {
        if let Some(value) = fields.get_mut(name).filter(|value| value.is_string()) {
            *value = json!("because_of_the_weather");
        }
    }
    if fields.get("status").is_some_and(|status| status == "completed") && fields.contains_key("output") {
        fields.insert("status".to_owned(), json!("because_of_the_weather"));
    }
}

/// A call of an unknown tool: the model receives an error; nothing runs.
fn unknown_tool(cell: &Cell) -> Plan {
    // The transport responds to the next request with the valid turn, whose tool call is then the only one
    // that runs.
    chunked_turn_plan(cell, opening().call("call_1", "no_such_tool", &arguments()), vec![arguments()])
}
