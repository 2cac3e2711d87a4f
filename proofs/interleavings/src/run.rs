//! Runs scenarios under two schedulers: one that chooses among all threads, and one that prefers a thread and changes its mind a few times,
//! which finds deep orderings sooner.

use ::std::panic::{AssertUnwindSafe, catch_unwind};
use ::std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner};

use super::Scenario;

/// Default number of orders per scenario and scheduler.
const SCHEDULES: usize = 100_000;
/// Default seed of both schedulers.
const SEED: u64 = 1;
/// Changes of mind of the second scheduler.
const CHANGES: usize = 3;
/// Bytes of the stack of each thread: SQLite runs on it.
const STACK: usize = 512 * 1024;
/// Steps after which a run is treated as endless.
const MAX_STEPS: usize = 200_000;

/// Runs the scenarios that the words name, or all. Returns whether every order kept every promise.
pub(crate) fn run(scenarios: &[Scenario], words: &[&str]) -> Result<bool, String> {
    let (mut schedules, mut seed, mut names) = (SCHEDULES, SEED, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.replace('_', "").parse::<u64>().ok());
        match *word {
            "--schedules" => {
                let number = number().ok_or("--schedules needs a number")?;
                schedules = usize::try_from(number).map_err(|_| "--schedules is too large")?;
            }
            "--seed" => seed = number().ok_or("--seed needs a number")?,
            name if scenarios.iter().any(|(known, _)| *known == name) => names.push(name),
            other => return Err(format!("unknown scenario `{other}`")),
        }
    }
    let mut faults = 0;
    for (name, scenario) in scenarios.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        let start = Instant::now();
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let random = RandomScheduler::new_from_seed(seed, schedules);
            let preferring = PctScheduler::new_from_seed(seed, CHANGES, schedules);
            Runner::new(random, config()).run(*scenario) + Runner::new(preferring, config()).run(*scenario)
        }));
        let seconds = start.elapsed().as_secs_f64();
        match ran {
            Ok(orders) => println!("{name}: {orders} orders in {seconds:.1} s, no fault"),
            Err(_) => {
                println!("{name}: FAULT after {seconds:.1} s; the schedule above repeats it");
                faults += 1;
            }
        }
    }
    println!("{faults} faults");
    Ok(faults == 0)
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    config
}
