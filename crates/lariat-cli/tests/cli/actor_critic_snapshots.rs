//! Tests that the snapshots of loops and races are removed when no loop or race needs them, and only then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::actor_critic::{decision, last_message, loop_journal, script};
use crate::fixture::{Fixture, signal, silence, wait, wait_for};
use crate::kills::{hang_while_saving_files, kill_and_wait};

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_that_a_kill_left_after_the_end_are_removed() {
    let fixture = Fixture::new(script(|_, _| decision("DONE", "the file is there"))).await;
    fixture.git(&["init", "-q"]);
    fixture.run(&["loop", "write a file"]).expect(0);
    let (id, _) = loop_journal(&fixture).await;
    let left = fixture.path("state/lariat/loops").join(&id);
    std::fs::create_dir_all(left.join("objects")).unwrap();
    let ran = fixture.run(&["loop", "--resume", &id]);
    assert!(ran.stderr.contains("has ended"), "{}", ran.stderr);
    assert!(!left.exists());
}

/// The number of directories with snapshots of loops and races.
fn snapshots(fixture: &Fixture) -> usize {
    std::fs::read_dir(fixture.path("state/lariat/loops")).unwrap().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_that_a_kill_left_before_the_start_was_recorded_are_removed() {
    let fixture = Fixture::new(script(|_, _| decision("DONE", "the file is there"))).await;
    fixture.git(&["init", "-q"]);
    kill_and_wait(&fixture, hang_while_saving_files(&fixture, &["loop", "write a file"]));
    assert_eq!(snapshots(&fixture), 1, "no journal names it");
    assert_eq!(fixture.run(&["sessions", "list", "--json"]).expect(0).json(), json!([]));
    // Another store cannot know whether the session exists.
    let settings = fixture.path("config/lariat/config.toml");
    let base = std::fs::read_to_string(&settings).unwrap();
    let other = fixture.path("other.db");
    std::fs::write(&settings, format!("{base}\n[store]\npath = \"{}\"\n", other.display())).unwrap();
    fixture.run(&["loop", "write a file"]).expect(0);
    assert_eq!(snapshots(&fixture), 1, "it belongs to another store");
    std::fs::write(&settings, base).unwrap();
    // The next start removes it, and is killed at the same point.
    kill_and_wait(&fixture, hang_while_saving_files(&fixture, &["race", "write a file"]));
    assert_eq!(snapshots(&fixture), 1, "that of the race");
    fixture.run(&["loop", "write a file"]).expect(0);
    assert_eq!(snapshots(&fixture), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_of_a_loop_that_starts_stay() {
    let fixture = Fixture::new(script(|_, _| decision("DONE", "the file is there"))).await;
    let starting = hang_while_saving_files(&fixture, &["loop", "write a file"]);
    fixture.run(&["loop", "write a file"]).expect(0);
    assert_eq!(snapshots(&fixture), 1, "its session does not exist yet");
    kill_and_wait(&fixture, starting);
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_of_running_and_interrupted_loops_stay() {
    let (is_killed, has_begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (killed, begun) = (Arc::clone(&is_killed), Arc::clone(&has_begun));
    let fixture = Fixture::new(script(move |request, _| {
        if last_message(request).contains("the first task") && !killed.load(Ordering::Acquire) {
            begun.store(true, Ordering::Release);
            return silence();
        }
        decision("DONE", "done")
    }))
    .await;
    let child = fixture.spawn(&["loop", "the first task", "--json"]);
    wait_for("the review", || has_begun.load(Ordering::Acquire));
    fixture.run(&["loop", "the second task"]).expect(0);
    assert_eq!(snapshots(&fixture), 1, "the first loop runs");
    signal(&child, Signal::KILL);
    wait(child);
    is_killed.store(true, Ordering::Release);
    fixture.run(&["loop", "the third task"]).expect(0);
    assert_eq!(snapshots(&fixture), 1, "the first loop can be resumed");
    let listed = fixture.run(&["metrics", "--json"]).expect(0).json();
    let is_open = |one: &&Value| one["outcome"].is_null();
    let first = listed["sessions"].as_array().unwrap().iter().find(is_open).unwrap();
    fixture.run(&["loop", "--resume", first["session_id"].as_str().unwrap()]).expect(0);
    assert_eq!(snapshots(&fixture), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_of_a_loop_that_was_killed_after_its_end_are_removed_by_the_next_one() {
    let fixture = Fixture::new(script(|_, _| decision("DONE", "the file is there"))).await;
    fixture.git(&["init", "-q"]);
    let first = fixture.run(&["loop", "write a file", "--json"]).expect(0).json();
    // As a kill between the end and the removal leaves it: the store is that of a directory in use.
    kill_and_wait(&fixture, hang_while_saving_files(&fixture, &["loop", "write a file"]));
    let loops = fixture.path("state/lariat/loops");
    let left = std::fs::read_dir(&loops).unwrap().next().unwrap().unwrap().path();
    let id = first["session_id"].as_str().unwrap();
    let owner = std::fs::read_to_string(left.join("lariat-session")).unwrap();
    let (store, _) = owner.split_once('\n').unwrap();
    std::fs::write(left.join("lariat-session"), format!("{store}\n{id}\n")).unwrap();
    std::fs::rename(left, loops.join(id)).unwrap();
    fixture.run(&["loop", "write a file"]).expect(0);
    assert_eq!(snapshots(&fixture), 0);
}
