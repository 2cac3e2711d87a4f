//! Kills the program at random moments and resumes it, until it ends by itself.
//!
//! `LARIAT_KILLS` sets the number of kills, and `LARIAT_SEED` repeats their moments.

use std::time::{Duration, Instant};

use lariat_test::SeededRandom;
use rustix::process::Signal;

use crate::fixture::{Fixture, RunResult, signal, wait};

/// Maximum number of kills of one run, so that every run ends.
const KILLS_OF_A_RUN: u64 = 5;

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What is killed.
pub(crate) struct Killed<'a> {
    /// The arguments of a new run.
    pub(crate) start: &'a [&'a str],
    /// The arguments to continue an interrupted run; `None` if it recorded nothing yet.
    pub(crate) resume: &'a dyn Fn(&Fixture) -> Option<Vec<String>>,
    /// Checks a run that ended. The text names the run.
    pub(crate) check: &'a dyn Fn(&Fixture, &RunResult, &str),
}

impl Killed<'_> {
    /// Kills runs in new fixtures, as often as the environment says.
    pub(crate) async fn kill(&self, usual: u64, new: impl AsyncFn() -> Fixture) {
        let kills = number("LARIAT_KILLS").unwrap_or(usual);
        let seed = number("LARIAT_SEED").unwrap_or_else(|| u64::from(std::process::id()));
        let mut random = SeededRandom::new(seed);
        let begun = Instant::now();
        let undisturbed = {
            let fixture = new().await;
            let begun = Instant::now();
            let ran = fixture.run(self.start);
            let time = begun.elapsed();
            (self.check)(&fixture, &ran, "not killed");
            time
        };
        let (mut killed, mut runs) = (0, 0);
        while killed < kills {
            runs += 1;
            let fixture = new().await;
            let planned = (1 + random.below(KILLS_OF_A_RUN)).min(kills - killed);
            killed += self.kill_one(
                &fixture,
                &mut random,
                planned,
                undisturbed,
                &format!("seed {seed}, run {runs}"),
            );
        }
        println!(
            "{killed} kills of {runs} runs of `lariat {}`, {:.1?}",
            self.start.join(" "),
            begun.elapsed()
        );
        println!("LARIAT_SEED={seed} repeats the same moments");
    }

    fn kill_one(
        &self,
        fixture: &Fixture,
        random: &mut SeededRandom,
        planned: u64,
        undisturbed: Duration,
        name: &str,
    ) -> u64 {
        let mut killed = 0;
        loop {
            let words = (self.resume)(fixture);
            let words: Vec<&str> = match &words {
                Some(words) => words.iter().map(String::as_str).collect(),
                None => self.start.to_vec(),
            };
            let child = fixture.spawn(&words);
            if killed < planned {
                let micros = u64::try_from(undisturbed.as_micros()).unwrap();
                std::thread::sleep(Duration::from_micros(random.below(micros)));
                // If it has already ended, its exit code decides.
                signal(&child, Signal::KILL);
            }
            let ran = wait(child);
            if ran.code.is_some() {
                (self.check)(fixture, &ran, name);
                return killed;
            }
            killed += 1;
        }
    }
}
