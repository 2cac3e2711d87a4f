//! What must hold in the terminal UI, at a size that the environment chooses: `cargo xtask terminal`.

use std::time::{Duration, Instant};

use lariat_proofs::server::{Script, Turn};
use lariat_test::SeededRandom;
use serde_json::json;

use crate::fixture::{Fixture, silence};
use crate::pty::Pty;

const READY: &str = "Type a message";
const FOCUS: &str = "\x19";

/// The number that a variable names.
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
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
    println!("{seconds} s idle: 0 bytes, {:?} of processor time", processor_time(pty.child.id()) - used);
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
    println!("{seconds} s waiting: {frames} frames, {used:?} of processor time");
    assert!(frames <= seconds + 1, "{frames} frames in {seconds} s");
    assert!(used <= Duration::from_millis(10 * seconds + 30), "{used:?} in {seconds} s");
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
        std::thread::sleep(Duration::from_millis(320));
        pty.type_text("y\x15");
        crate::fixture::wait_for("the approved file", || fixture.workspace().join(&file).exists());
    }
    pty.shows("All asked.");
    println!("{asks} questions while text was typed: 0 answered by it");
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
            pty.type_text(["x", "\x7f", "\x1b[D", "é", "\x17"][random.below(5) as usize]);
        }
        std::thread::sleep(Duration::from_millis(random.below(8)));
    }
    pty.resize(100, 30);
    pty.type_text("\x15");
    pty.shows(&format!("row {:05}", lines - 1));
    pty.settle();
    let all = pty.all_rows().join("\n");
    for line in 0..lines {
        let line = format!("row {line:05} end");
        assert_eq!(all.matches(&line).count(), 1, "{line}\n{all}");
    }
    println!("{resizes} resizes: {lines} lines, each shown once");
    assert_eq!(pty.quit(), Some(0));
}

/// Prints figures; fails only far above them, because the build may not be optimised.
#[tokio::test(flavor = "multi_thread")]
async fn first_paint_and_keys_are_quick() {
    let rounds = number("LARIAT_ROUNDS", 3);
    let limit = number("LARIAT_SLOWEST", 1_000);
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let mut paints = Vec::new();
    let mut keys = Vec::new();
    let mut resident = 0;
    for _ in 0..rounds {
        let begun = Instant::now();
        let mut pty = Pty::start(&fixture, &[], 100, 100);
        pty.shows(READY);
        paints.push(begun.elapsed());
        pty.settle();
        resident = resident.max(memory(pty.child.id(), "VmRSS"));
        for letter in "abcdefghij".chars() {
            let frames = pty.frames();
            let begun = Instant::now();
            pty.type_text(&letter.to_string());
            while pty.frames() == frames {
                std::thread::sleep(Duration::from_micros(200));
            }
            keys.push(begun.elapsed());
        }
        pty.type_text("\x15");
        assert_eq!(pty.quit(), Some(0));
    }
    paints.sort_unstable();
    keys.sort_unstable();
    let (paint, key) = (paints[paints.len() / 2], keys[keys.len() * 95 / 100]);
    println!("first paint {paint:?} (median), key to paint {key:?} (p95), {resident} kB resident");
    assert!(
        paint < Duration::from_millis(limit * 5) && key < Duration::from_millis(limit),
        "{paint:?} {key:?}"
    );
}
