//! How much later a session starts with many MCP servers. `cargo xtask connect` runs this with an optimised program.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lariat_proofs::server::{Script, Turn};
use serde_json::json;

use crate::fixture::{Fixture, last_result};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-connect/tests/mcp/server.py");
/// Servers in the settings, and how many of them the model uses.
const SERVERS: usize = 100;
const USED: usize = 10;
/// How much later a session should start. Missed: reading 100 entries and the names of 1,600 tools takes about 10 ms.
const GOAL: Duration = Duration::from_millis(5);
/// How much later is an error.
const LIMIT: Duration = Duration::from_millis(15);
/// Pairs of runs, with and without servers.
const PAIRS: usize = 41;

/// When the model received the first request of the run.
type FirstRequest = Arc<Mutex<Option<Instant>>>;

/// A model that calls `USED` tools of as many servers at once, if there are any, and then ends.
async fn fixture(has_servers: bool) -> (Fixture, FirstRequest) {
    let first = FirstRequest::default();
    let received = Arc::clone(&first);
    let script = Script::answer(move |request| {
        received.lock().unwrap().get_or_insert_with(Instant::now);
        let mut turn = Turn::new();
        if last_result(&request.body).is_some() || !has_servers {
            return turn.text("Done.").into();
        }
        for number in 0..USED {
            let tool = format!("mcp__s{number}__echo");
            turn = turn.call(format!("toolu_{number}"), &tool, &json!({ "text": "hello" }));
        }
        turn.into()
    });
    (Fixture::new(script).await, first)
}

/// The program to measure.
fn command(fixture: &Fixture) -> Command {
    let command = fixture.command(&["run", "go"]);
    let Some(program) = std::env::var_os("LARIAT_PROGRAM") else { return command };
    let mut other = Command::new(program);
    other.args(command.get_args()).current_dir(fixture.workspace()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other
}

/// Runs a session. Returns how long it took until the model received the first request.
fn start(fixture: &Fixture, first: &FirstRequest) -> Duration {
    *first.lock().unwrap() = None;
    let begun = Instant::now();
    let output = command(fixture).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    first.lock().unwrap().unwrap() - begun
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and needs an optimised program: cargo xtask connect"]
async fn a_session_with_100_servers_starts_almost_as_soon_as_one_without() {
    let ((without, first_without), (with, first_with)) = (fixture(false).await, fixture(true).await);
    let settings = with.path("config/lariat/config.toml");
    let mut text = std::fs::read_to_string(&settings).unwrap();
    for number in 0..SERVERS {
        // The last argument makes each a server of its own.
        text.push_str(&format!(
            "[mcp_servers.s{number}]\ncommand = \"python3\"\nargs = [\"{SERVER}\", \"plain\", \"{number}\"]\nstartTimeout = 300000\n"
        ));
    }
    std::fs::write(settings, text).unwrap();
    // The first session starts every server once, to learn its tools.
    start(&with, &first_with);
    start(&without, &first_without);
    let (mut plain, mut many) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        plain.push(start(&without, &first_without));
        many.push(start(&with, &first_with));
    }
    let (plain, many) = (median(plain), median(many));
    let later = many.saturating_sub(plain);
    println!(
        "start of a session with {SERVERS} servers, {USED} used: {many:?}, without: {plain:?}: {later:?} later (goal {GOAL:?}, at most {LIMIT:?}, median of {PAIRS})"
    );
    if std::env::var_os("LARIAT_PROGRAM").is_some() {
        assert!(later <= LIMIT, "{later:?} later");
    }
}
