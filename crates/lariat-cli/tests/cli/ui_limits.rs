//! What must hold in the terminal UI, at a size that the environment chooses: `cargo xtask terminal`.
//!
//! A test fails if something is wrong, such as a lost line. A figure that misses its limit only says so, because the build
//! may not be optimised and the machine may be busy; `cargo xtask terminal` fails then.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use lariat_proofs::server::{Answer, Frame, RawResponse, Script, Turn, Wire, render};
use lariat_test::SeededRandom;
use lariat_tui::screen::modes::{KeyReports, Modes};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::background::HostGuard;
use crate::fixture::{Fixture, signal, silence, wait_for};
use crate::pty::Pty;
use crate::terminal::Terminal;

const READY: &str = "Type a message";
const FOCUS: &str = "\x19";
/// Clears the draft: to its end, and cut to its start.
const CLEAR: &str = "\x05\x15";
const FULL_SCREEN: &str = "\x1bz";
/// How long a question that appeared accepts no answer, and a little more.
const ASK_IS_NEW: Duration = Duration::from_millis(320);

/// The number that a variable names.
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Prints a figure beside its limit, and adds it to the table of `cargo xtask terminal`.
fn figure(what: &str, measured: &str, limit: &str, holds: bool) {
    let row = format!("| {what} | {measured} | {limit}{} |", if holds { "" } else { ": missed" });
    println!("{row}");
    if let Some(path) = std::env::var_os("LARIAT_FIGURES") {
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{row}").unwrap();
    }
}

/// The value that 95 of 100 values do not exceed.
fn p95(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 95 / 100]
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

/// How much of a core was used.
fn percent(used: Duration, of: Duration) -> f64 {
    used.as_secs_f64() / of.as_secs_f64() * 100.0
}

/// Processor time of a process.
fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// A value of `/proc/PID/status`, in kB.
fn memory(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_while_nothing_happens() {
    let seconds = number("LARIAT_IDLE", 3);
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let pty = Pty::start(&fixture, &["go"], 100, 30);
    pty.shows("Done.");
    pty.settle();
    let (bytes, used) = (pty.bytes(), processor_time(pty.child.id()));
    std::thread::sleep(Duration::from_secs(seconds));
    assert_eq!(pty.bytes(), bytes, "the program wrote while it was idle:\n{}", pty.screen());
    figure(&format!("bytes written in {seconds} s idle"), "0", "0", true);
    let idle = percent(processor_time(pty.child.id()) - used, Duration::from_secs(seconds));
    figure("processor while idle, of a core", &format!("{idle:.2} %"), "< 1 %", idle < 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_model_costs_almost_nothing() {
    let seconds = number("LARIAT_IDLE", 3);
    let fixture = Fixture::new(Script::answer(|_| silence())).await;
    let pty = Pty::start(&fixture, &["go"], 100, 30);
    pty.shows("waiting for the model");
    std::thread::sleep(Duration::from_secs(2));
    let (frames, used) = (pty.frames(), processor_time(pty.child.id()));
    std::thread::sleep(Duration::from_secs(seconds));
    let (frames, used) = (pty.frames() - frames, processor_time(pty.child.id()) - used);
    assert!(frames <= seconds + 1, "{frames} frames in {seconds} s");
    let part = percent(used, Duration::from_secs(seconds));
    figure(
        "processor while a run waits for its model, of a core",
        &format!("{part:.2} %"),
        "< 1 %",
        part < 1.0,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_answers_no_question() {
    let asks = number("LARIAT_ASKS", 20);
    let mut random = SeededRandom::new(number("LARIAT_SEED", 7));
    let fixture = Fixture::new(Script::answer(move |request| {
        let done = request.body["messages"].to_string().matches("\"tool_result\"").count() as u64;
        if done >= asks {
            return Turn::new().text("All asked.").into();
        }
        let arguments = json!({ "path": format!("file-{done}.txt"), "content": "x" });
        Turn::new().call(format!("toolu_{done}"), "write_file", &arguments).into()
    }))
    .await;
    fixture.run(&["config", "set", "mode", "default"]).expect(0);
    // Each question is a turn of one run.
    fixture.run(&["config", "set", "limits.turns", "100000"]).expect(0);
    let mut pty = Pty::start(&fixture, &["go"], 100, 30);
    let keys = ["y", "s", "a", "n", "e", "Y", " ", "1", "\x1b[A", "\x1b[B", "\t"];
    for ask in 0..asks {
        let file = format!("file-{ask}.txt");
        // Keys arrive before, while and after the question appears.
        let begun = Instant::now();
        while !pty.screen().contains(&file) {
            assert!(begun.elapsed() < crate::fixture::PATIENCE, "{file} is missing:\n{}", pty.screen());
            pty.type_text(keys[random.below(6) as usize]);
            std::thread::sleep(Duration::from_millis(random.below(4)));
        }
        for _ in 0..random.below(8) {
            pty.type_text(keys[random.below(keys.len() as u64) as usize]);
        }
        pty.shows("ctrl+y to answer");
        assert!(!fixture.workspace().join(&file).exists(), "typed text approved {file}");
        pty.type_text(FOCUS);
        pty.shows("y/s/a/n/e>");
        std::thread::sleep(ASK_IS_NEW);
        pty.type_text("y\x15");
        wait_for("the approved file", || fixture.workspace().join(&file).exists());
    }
    pty.shows("All asked.");
    figure(&format!("of {asks} questions while text is typed, answered by the text"), "0", "0", true);
    assert_eq!(pty.quit(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn resizes_and_keys_lose_and_repeat_no_line() {
    let resizes = number("LARIAT_RESIZES", 60);
    let lines = usize::try_from(resizes).unwrap() / 2 + 40;
    let mut random = SeededRandom::new(number("LARIAT_SEED", 7));
    let text: String = (0..lines).map(|line| format!("- row {line:05} end\n")).collect();
    let fixture = Fixture::new(Script::answer(move |_| Turn::new().text(text.clone()).piece(5).into())).await;
    let mut pty = Pty::start(&fixture, &["count"], 100, 30);
    pty.shows("row 0");
    for step in 0..resizes {
        pty.resize(20 + random.below(120) as u16, 6 + random.below(50) as u16);
        if step % 3 == 0 {
            // Now and then a storm: more keys than the program draws frames for. Then the draft is cleared.
            let keys = if step % 30 == 0 { 200 } else { 1 };
            for _ in 0..keys {
                pty.type_text(["x", "\x7f", "\x1b[D", "é", "\x17"][random.below(5) as usize]);
            }
            if keys > 1 {
                pty.type_text(CLEAR);
            }
        }
        std::thread::sleep(Duration::from_millis(random.below(8)));
    }
    pty.resize(100, 30);
    pty.type_text(CLEAR);
    pty.shows(&format!("row {:05}", lines - 1));
    pty.settle();
    let all = pty.all_rows().join("\n");
    for line in 0..lines {
        let line = format!("row {line:05} end");
        assert_eq!(all.matches(&line).count(), 1, "{line}\n{all}");
    }
    let what = format!("of {lines} lines, lost or repeated in {resizes} resizes and storms of keys");
    figure(&what, "0", "0", true);
    assert_eq!(pty.quit(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn first_paint_and_keys_are_quick() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let (mut paints, mut keys, mut resident) = (Vec::new(), Vec::new(), 0);
    for _ in 0..number("LARIAT_ROUNDS", 3) {
        let begun = Instant::now();
        let mut pty = Pty::start(&fixture, &[], 200, 50);
        pty.shows(READY);
        paints.push(begun.elapsed());
        pty.settle();
        resident = resident.max(memory(pty.child.id(), "VmRSS"));
        keys.extend("abcdefghij".chars().map(|letter| pty.time_to_paint(&letter.to_string())));
        assert_eq!(pty.quit(), Some(0));
    }
    paints.sort_unstable();
    let (paint, key) = (paints[paints.len() / 2], p95(keys));
    figure("first paint after start, median", &millis(paint), "≤ 30 ms", paint <= Duration::from_millis(30));
    let megabytes = resident as f64 / 1_024.0;
    figure("resident memory after start", &format!("{megabytes:.1} MB"), "≤ 40 MB", megabytes <= 40.0);
    figure("key to paint, 10,000 cells, p95", &millis(key), "≤ 8 ms", key <= Duration::from_millis(8));
}

/// `cargo xtask terminal` writes a session with a million events; without it, the program itself makes a short one.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_quick_in_a_long_session() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let state = std::env::var_os("LARIAT_LONG_SESSION");
    let (mut command, events) = match &state {
        Some(_) => {
            let events = number("LARIAT_EVENTS", 1_000_000);
            (fixture.command(&["--resume", "long"]), format!("{events} events"))
        }
        None => {
            fixture.run(&["run", "hello"]).expect(0);
            (fixture.command(&["-c"]), "a few events".to_owned())
        }
    };
    command.envs(state.map(|state| ("XDG_STATE_HOME", state)));
    let mut keys = Vec::new();
    for _ in 0..number("LARIAT_ROUNDS", 3) {
        let mut pty = Pty::run(&command, 200, 50);
        pty.shows(READY);
        // The first keys arrive while the session is being read.
        keys.extend("abcdefghij".chars().map(|letter| pty.time_to_paint(&letter.to_string())));
        pty.shows("idle");
        keys.extend("abcdefghij".chars().map(|letter| pty.time_to_paint(&letter.to_string())));
        assert_eq!(pty.quit(), Some(0));
    }
    let (key, what) = (p95(keys), format!("key to paint, session of {events}, p95"));
    figure(&what, &millis(key), "≤ 8 ms", key <= Duration::from_millis(8));
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_is_drawn_at_most_sixty_times_a_second() {
    /// Tokens between two pauses of the model, and the pause. A pause takes a little longer than it says.
    const TOKENS: usize = 5;
    const PAUSE: Duration = Duration::from_millis(9);
    let tokens = number("LARIAT_TOKENS", 1_000) as usize;
    let words: Vec<String> = (0..tokens).map(|token| format!("w{token:05} ")).collect();
    let text: String = words.chunks(12).map(|line| format!("- {}\n", line.concat().trim_end())).collect();
    let turn = Turn::new().text(format!("begun\n\n{text}\nall said")).piece(7);
    let mut frames = Vec::new();
    for (index, bytes) in render::stream(Wire::AnthropicMessages, &turn).into_iter().enumerate() {
        frames.push(Frame::Bytes(bytes));
        if index % TOKENS == 0 {
            frames.push(Frame::Pause(PAUSE));
        }
    }
    let sent = frames.len();
    let answer =
        move |_: &_| Answer::Raw(RawResponse { status: 200, headers: Vec::new(), frames: frames.clone() });
    let fixture = Fixture::new(Script::answer(answer)).await;
    let pty = Pty::start(&fixture, &["say it"], 100, 30);
    pty.shows("begun");
    let (begun, drawn, used) = (Instant::now(), pty.frames(), processor_time(pty.child.id()));
    pty.shows("all said");
    let took = begun.elapsed();
    let per_second = |count: f64| count / took.as_secs_f64();
    let drawn = per_second((pty.frames() - drawn) as f64);
    let part = percent(processor_time(pty.child.id()) - used, took);
    let stream =
        format!("at {:.0} tokens a second", per_second(sent as f64 * TOKENS as f64 / (TOKENS + 1) as f64));
    figure(&format!("frames a second {stream}"), &format!("{drawn:.1}"), "≤ 60", drawn <= 60.5);
    figure(&format!("processor {stream}, of a core"), &format!("{part:.1} %"), "< 10 %", part < 10.0);
    let all = pty.all_rows().join("\n");
    for word in words {
        assert_eq!(all.matches(word.trim_end()).count(), 1, "{word}\n{all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_is_restored_after_a_signal() {
    let fixture = Fixture::new(Script::answer(|_| silence())).await;
    for by in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        for is_full in [false, true] {
            let mut pty = Pty::start(&fixture, &["go"], 80, 24);
            pty.shows("waiting for the model");
            if is_full {
                pty.type_text(FULL_SCREEN);
                wait_for("the full screen", || pty.modes().contains("1049"));
            }
            signal(&pty.child, by);
            assert!(pty.end().is_some(), "{by:?} killed the program");
            pty.is_restored();
        }
    }
    figure("terminal restored after TERM, HUP, INT and QUIT", "8 of 8", "8 of 8", true);
}

#[test]
fn terminal_is_restored_after_a_panic() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "ui_limits::panics_in_full_screen", "--ignored", "--nocapture"]);
    let mut pty = Pty::run(&child, 80, 24);
    assert_ne!(pty.end(), Some(0));
    pty.is_restored();
    // The message is on the normal screen, where the user can read it.
    pty.shows("on purpose");
    figure("terminal restored after a panic", "yes", "yes", true);
}

/// Only the hook of the panic can restore the modes.
#[test]
#[ignore = "terminal_is_restored_after_a_panic runs it on a terminal"]
fn panics_in_full_screen() {
    std::mem::forget(Modes::enter(KeyReports::Enhanced).unwrap());
    print!("\x1b[?1049h\x1b[?2026h\x1b[?25l\x1b[?7l");
    std::io::stdout().flush().unwrap();
    panic!("on purpose");
}

/// Nothing can restore the terminal when the program is killed; the shell takes over, and so does the next start.
#[tokio::test(flavor = "multi_thread")]
async fn terminal_is_usable_after_a_kill() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Hi.").into())).await;
    let terminal = Terminal::shell(&fixture);
    terminal.shows("ready$");
    terminal.types(&["lariat", "Enter"]);
    terminal.shows(READY);
    let shell = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let shell = shell.trim();
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    let program = children.split_whitespace().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(program).unwrap(), Signal::KILL).unwrap();
    terminal.shows("Killed");
    terminal.types(&["clear; stty -a | grep -c -e -icanon -e '-echo '; echo us''able", "Enter"]);
    terminal.shows("0\nusable");
    terminal.types(&["lariat", "Enter"]);
    terminal.shows(READY);
    // Without a session there is nothing to resume.
    terminal.shows("idle");
    terminal.types(&["C-d"]);
    terminal.shows("lariat --resume");
    terminal.types(&["clear; stty -a | grep -c -e -icanon -e '-echo '; echo still us''able", "Enter"]);
    terminal.shows("0\nstill usable");
    figure("terminal usable after KILL, in a shell", "yes", "yes", true);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_terminals_drive_one_session() {
    let rounds = number("LARIAT_ROUNDS", 3);
    let fixture = Fixture::new(Script::answer(|request| {
        let text = request.body["messages"].to_string();
        let (asked, done) = (text.matches("write it").count(), text.matches("\"tool_result\"").count());
        if asked > done {
            let arguments = json!({ "path": format!("file-{done}.txt"), "content": "x" });
            return Turn::new().call(format!("toolu_{done}"), "write_file", &arguments).into();
        }
        Turn::new().text(format!("Written {done}.")).into()
    }))
    .await;
    fixture.run(&["config", "set", "mode", "default"]).expect(0);
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "hello"]).expect(0).stdout.trim().to_owned();
    let mut both = [(); 2].map(|()| Pty::start(&fixture, &["attach", &id], 100, 30));
    for round in 0..rounds {
        both.iter().for_each(|pty| pty.shows(&format!("Written {round}.")));
        // One terminal sends; both show the question, and both answer at the same time.
        both[usize::from(round % 2 == 0)].type_text("write it\r");
        both.iter().for_each(|pty| pty.shows(&format!("file-{round}.txt")));
        both.iter().for_each(|pty| pty.shows("ctrl+y to answer"));
        both.iter().for_each(|pty| pty.type_text(FOCUS));
        both.iter().for_each(|pty| pty.shows("y/s/a/n/e>"));
        std::thread::sleep(ASK_IS_NEW);
        both.iter().for_each(|pty| pty.type_text("y"));
    }
    both.iter().for_each(|pty| pty.shows(&format!("Written {rounds}.")));
    for pty in &mut both {
        pty.settle();
        let all = pty.all_rows().join("\n");
        for round in 0..=rounds {
            assert_eq!(all.matches(&format!("Written {round}.")).count(), 1, "{all}");
        }
        assert_eq!(pty.quit(), Some(0), "{all}");
    }
    let calls = fixture.requests().len() as u64;
    assert_eq!(calls, 1 + 2 * rounds, "every question had one answer");
    figure(&format!("lines lost or repeated in 2 terminals on a session, {rounds} turns"), "0", "0", true);
}
