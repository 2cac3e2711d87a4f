//! Builds the command lines of the proofs that a killed run, loop, race or background host loses nothing: tests of the
//! program, with more kills.
//!
//! The arguments become environment variables that the test reads.

use anyhow::{Result, bail};

use crate::build;
use crate::command_line::CommandLine;

/// Kills `lariat run`.
pub(crate) const PROGRAM: &str = "repair::repair_killed_at_any_moment_resumes_and_does_nothing_twice";
/// Kills the background host.
pub(crate) const HOST: &str = "background_kills::host_killed_at_any_moment_loses_and_repeats_no_command";
/// Kills `lariat loop`.
pub(crate) const LOOP: &str = "actor_critic::loop_killed_at_any_moment_ends_with_the_same_files";
/// Kills `lariat race`.
pub(crate) const RACE: &str = "race::race_killed_at_any_moment_ends_with_the_same_files";
/// Default number of kills.
const KILLS: &str = "200";

pub(crate) fn command_line(test: &str, arguments: &[String]) -> Result<CommandLine> {
    let mut kills = KILLS;
    let mut seed = None;
    for pair in arguments.chunks(2) {
        match pair {
            [flag, value] if flag == "--kills" => kills = value,
            [flag, value] if flag == "--seed" => seed = Some(value),
            _ => bail!("this command accepts `--kills N` and `--seed N`, not `{}`", pair.join(" ")),
        }
    }
    let line = build::tests("test --test cli")
        .with_arguments(["--", "--exact", test, "--nocapture"])
        .with_environment("LARIAT_KILLS", kills);
    Ok(match seed {
        Some(seed) => line.with_environment("LARIAT_SEED", seed),
        None => line,
    })
}

#[cfg(test)]
mod tests {
    use super::{HOST, PROGRAM, command_line};

    #[test]
    fn passes_kills_and_seed_to_the_test() {
        let line =
            command_line(PROGRAM, &["--kills", "7", "--seed", "3"].map(str::to_owned)).unwrap().to_string();
        assert!(line.starts_with("LARIAT_KILLS=7 LARIAT_SEED=3 cargo test"), "{line}");
        assert!(command_line(HOST, &[]).unwrap().to_string().starts_with("LARIAT_KILLS=200 cargo"));
        assert!(command_line(HOST, &["--kill".to_owned()]).is_err());
    }
}
