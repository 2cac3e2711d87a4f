//! Faults before the stream: statuses, pages, odd headers, failed connections.
//!
//! The position truncates the body: at odd positions the connection breaks there, at even ones the body ends;
//! the last position lets everything through. Without a body, the position is a delay.

use std::time::Duration;

use lariat_model::http::TransportError;

use super::cell::{Cell, Position, arguments, streamed, well_answered};
use super::fault::{Fault, Group};
use super::outcome::AllowedOutcomes;
use super::plan::{Answer, BodyStep, Head, Plan};
use crate::server::{Turn, render};

const PAGE: &str =
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502</h1></body></html>";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

const fn fault(name: &'static str, letters: &'static str, plan: fn(&Cell) -> Plan) -> Fault {
    Fault { name, group: Group::Opening, plan, allowed: AllowedOutcomes::always(letters) }
}

/// The faults.
pub const FAULTS: &[Fault] = &[
    fault("400", "p", |cell| status(cell, 400)),
    fault("401, the key echoed", "a", |cell| {
        error_plan(cell, render::ApiError::new(cell.wire, 401, "Incorrect API key provided: test-key-123."))
    }),
    // OpenAI also rejects unsupported countries with it, so the key may be valid.
    fault("403", "ap", |cell| status(cell, 403)),
    fault("404", "p", |cell| status(cell, 404)),
    fault("408", "R", |cell| status(cell, 408)),
    fault("409", "R", |cell| status(cell, 409)),
    // Anthropic means bytes, others tokens: in both cases only a smaller request helps.
    fault("413", "op", |cell| status(cell, 413)),
    fault("422", "p", |cell| status(cell, 422)),
    fault("429", "R", |cell| status(cell, 429)),
    fault("429 for ever", "l", |cell| status(cell, 429).for_ever()),
    fault("429, Retry-After: 7", "R", |cell| {
        error_plan(cell, error(cell, 429).header("retry-after", "7")).asking_to_wait(Duration::from_secs(7))
    }),
    // The virtual clock starts at 2025-11-15T00:00:00Z.
    fault("429, Retry-After: a date", "R", |cell| {
        error_plan(cell, error(cell, 429).header("retry-after", "Sat, 15 Nov 2025 00:01:30 GMT"))
            .asking_to_wait(Duration::from_secs(90))
    }),
    fault("429, retry-after-ms", "R", |cell| {
        error_plan(cell, error(cell, 429).header("retry-after-ms", "4321"))
            .asking_to_wait(Duration::from_millis(4321))
    }),
    fault("429, Retry-After: centuries", "R", |cell| {
        error_plan(cell, error(cell, 429).header("retry-after", "9999999999"))
            .asking_to_wait(Duration::from_secs(3600))
            .within(Duration::from_secs(3700))
    }),
    fault("429, Retry-After: nonsense", "R", |cell| {
        let nonsense =
            cell.position.choose(["soon", "-5", "", "NaN", "1e999", "0x10", "Wed, 99 Foo 2025 25:61:61 GMT"]);
        error_plan(cell, error(cell, 429).header("retry-after", nonsense))
    }),
    fault("500", "R", |cell| status(cell, 500)),
    fault("502 with a page", "R", |cell| response_plan(cell, 502, HTML, PAGE)),
    fault("503", "R", |cell| status(cell, 503)),
    fault("503, Retry-After: 20", "R", |cell| {
        error_plan(cell, error(cell, 503).header("retry-after", "20")).asking_to_wait(Duration::from_secs(20))
    }),
    fault("504 with text", "R", |cell| response_plan(cell, 504, "text/plain", "upstream request timeout")),
    fault("529", "R", |cell| status(cell, 529)),
    fault("500 for ever", "n", |cell| status(cell, 500).for_ever()),
    fault("302 to elsewhere", "R", |cell| {
        let mut plan = response_plan(cell, 302, HTML, PAGE);
        if let Head::Status { headers, .. } = &mut plan.answer.head {
            headers.push(("location".to_owned(), "https://elsewhere.example/v1/messages".to_owned()));
        }
        plan
    }),
    // A message that is cut in the middle need not be recognized.
    fault("400 overflow, no compaction", "op", |cell| error_plan(cell, render::overflow(cell.wire))),
    fault("400 overflow, compaction", "Rp", |cell| {
        error_plan(cell, render::overflow(cell.wire)).compacting()
    }),
    fault("400 overflow whole, no compaction", "o", |cell| {
        delayed_error_plan(cell, &render::overflow(cell.wire))
    }),
    fault("400 overflow whole, compaction", "R", |cell| {
        delayed_error_plan(cell, &render::overflow(cell.wire)).compacting()
    }),
    fault("400 overflow for ever, compaction", "o", |cell| {
        delayed_error_plan(cell, &render::overflow(cell.wire)).compacting().for_ever()
    }),
    fault("200 with a page", "R", |cell| response_plan(cell, 200, HTML, PAGE)),
    fault("200 with a page, called a stream", "R", |cell| {
        response_plan(cell, 200, "text/event-stream", PAGE)
    }),
    fault("200 with a JSON error", "Rlnp", |cell| {
        let body = render::error(cell.wire, 503, "The server is overloaded, please try again later.");
        response_plan(cell, 200, JSON, &String::from_utf8_lossy(&body))
    }),
    fault("200 with a whole reply, not streamed", "R", |cell| {
        let body = render::whole(cell.wire, &super::cell::turn());
        response_plan(cell, 200, JSON, &String::from_utf8_lossy(&body))
    }),
    fault("200 with an empty body", "R", |cell| {
        Plan::new(streamed(cell.wire, Vec::new()).after(position_delay(cell)))
    }),
    fault("204", "R", |cell| Plan::new(Answer::new(204, Vec::new(), Vec::new()).after(position_delay(cell)))),
    fault("500 with an empty body", "R", |cell| {
        Plan::new(Answer::new(500, Vec::new(), Vec::new()).after(position_delay(cell)))
    }),
    fault("500 with a body of 1 MB", "R", |cell| {
        response_plan(cell, 500, "text/plain", &"x".repeat(1 << 20))
    }),
    fault("400 with a page of 1 MB", "p", |cell| response_plan(cell, 400, HTML, &PAGE.repeat(10_000))),
    fault("401, the body never ends", "a", |cell| hanging_error_plan(cell, 401)),
    fault("503, the body never ends", "R", |cell| hanging_error_plan(cell, 503)),
    fault("429 with a body that is not UTF-8", "R", |cell| {
        let mut plan = status(cell, 429);
        plan.answer.body.insert(0, BodyStep::bytes(vec![0xff, 0xfe, 0x00, 0xc3]));
        plan
    }),
    fault("connection refused", "R", |cell| {
        failing(cell, TransportError::Broken("no connection: connection refused".to_owned()))
    }),
    fault("connection refused for ever", "n", |cell| {
        failing(cell, TransportError::Broken("no connection: connection refused".to_owned())).for_ever()
    }),
    fault("an untrusted certificate", "x", |cell| {
        failing(cell, TransportError::Impossible("invalid peer certificate: UnknownIssuer".to_owned()))
    }),
    fault("no answer", "R", |cell| Plan::new(Answer::without_body(Head::Never).after(position_delay(cell)))),
    fault("no answer for ever", "n", |cell| {
        let answer = Answer::without_body(Head::Never).after(position_delay(cell));
        Plan::new(answer).for_ever().within(Duration::from_secs(1220))
    }),
    fault("a late answer, in time", "C", |cell| {
        let seconds = cell.position.choose([1, 10, 60, 120, 200, 280, 299]);
        let answer = well_answered(cell.wire, &super::cell::turn()).after(Duration::from_secs(seconds));
        Plan::new(answer).complete(vec![arguments()])
    }),
    fault("headers, then silence", "R", |cell| {
        Plan::new(streamed(cell.wire, vec![BodyStep::Hangs]).after(position_delay(cell)))
    }),
    fault("an odd content type", "C", |cell| {
        let mut answer = well_answered(cell.wire, &super::cell::turn());
        let odd = cell.position.choose([
            "",
            "text/plain",
            "application/octet-stream",
            "TEXT/Event-Stream",
            "x",
            "*/*",
            ";",
        ]);
        if let Head::Status { headers, .. } = &mut answer.head {
            headers.clear();
            headers.push(("content-type".to_owned(), odd.to_owned()));
        }
        Plan::new(answer).complete(vec![arguments()])
    }),
    fault("201 with a stream", "C", |cell| {
        let mut answer = well_answered(cell.wire, &super::cell::turn()).after(position_delay(cell));
        if let Head::Status { status, .. } = &mut answer.head {
            *status = 201;
        }
        Plan::new(answer).complete(vec![arguments()])
    }),
    fault("a reply in one chunk", "C", |cell| {
        let whole = render::stream(cell.wire, &chunked_turn(cell)).concat();
        Plan::new(streamed(cell.wire, vec![BodyStep::bytes(whole)])).complete(vec![arguments()])
    }),
];

/// Delay before something fails.
fn position_delay(cell: &Cell) -> Duration {
    Duration::from_secs(cell.position.choose([0, 1, 5, 15, 30, 60, 120]))
}

fn chunked_turn(cell: &Cell) -> Turn {
    super::cell::turn().piece(cell.position.choose([1, 2, 3, 5, 8, 13, 10_000]))
}

fn error(cell: &Cell, status: u16) -> render::ApiError {
    render::ApiError::new(cell.wire, status, "Something about this request or this server is not right.")
}

fn status(cell: &Cell, status: u16) -> Plan {
    error_plan(cell, error(cell, status))
}

/// An error response of the provider, its body truncated at the position.
fn error_plan(cell: &Cell, error: render::ApiError) -> Plan {
    let mut headers = error.headers;
    headers.push(("content-type".to_owned(), JSON.to_owned()));
    Plan::new(Answer::new(error.status, headers, cut(cell.position, &error.body)))
}

/// An error response of the provider, complete but delayed.
fn delayed_error_plan(cell: &Cell, error: &render::ApiError) -> Plan {
    let headers = error.headers.clone();
    Plan::new(
        Answer::new(error.status, headers, vec![BodyStep::bytes(error.body.clone())])
            .after(position_delay(cell)),
    )
}

fn response_plan(cell: &Cell, status: u16, content_type: &str, body: &str) -> Plan {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Plan::new(Answer::new(status, headers, cut(cell.position, body.as_bytes())))
}

/// An error response whose body begins but never ends.
fn hanging_error_plan(cell: &Cell, status: u16) -> Plan {
    let mut plan = self::status(cell, status);
    plan.answer.body.truncate(1);
    plan.answer.body.push(BodyStep::Hangs);
    plan
}

fn failing(cell: &Cell, error: TransportError) -> Plan {
    Plan::new(Answer::without_body(Head::Fails(error)).after(position_delay(cell)))
}

fn cut(position: Position, body: &[u8]) -> Vec<BodyStep> {
    let end = position.of(body.len());
    let part = body.get(..end).unwrap_or(body).to_vec();
    let mut beats = vec![BodyStep::bytes(part)];
    if end < body.len() && position.index() % 2 == 1 {
        beats.push(BodyStep::reset());
    }
    beats
}
