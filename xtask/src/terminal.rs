//! Builds the command line of the proof of the terminal UI: tests of the program on a pseudo terminal, at full size.
//!
//! The arguments become environment variables that the tests read. Optimised, because the tests print figures.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;

/// The options: flag, variable, and value at full size.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("--idle", "LARIAT_IDLE", "60"),
    ("--asks", "LARIAT_ASKS", "1000"),
    ("--resizes", "LARIAT_RESIZES", "10000"),
    ("--rounds", "LARIAT_ROUNDS", "20"),
    ("--seed", "LARIAT_SEED", "7"),
];

pub(crate) fn command_line(arguments: &[String]) -> Result<CommandLine> {
    let mut line = CommandLine::cargo("test --release --locked -p lariat-cli --test cli --")
        .with_arguments(["ui_limits::", "--nocapture", "--test-threads", "1"]);
    for pair in arguments.chunks(2) {
        let is_known = |flag: &str| OPTIONS.iter().any(|(known, ..)| *known == flag);
        if !matches!(pair, [flag, _] if is_known(flag)) {
            let flags: Vec<&str> = OPTIONS.iter().map(|(flag, ..)| *flag).collect();
            bail!("this command accepts {} with a number, not `{}`", flags.join(", "), pair.join(" "));
        }
    }
    for (flag, variable, default) in OPTIONS {
        let given = arguments.chunks(2).find(|pair| pair.first().is_some_and(|given| given == flag));
        let value = given.and_then(|pair| pair.get(1)).map_or(*default, String::as_str);
        line = line.with_environment(variable, value);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn passes_sizes_to_the_tests() {
        let line = command_line(&["--asks", "7"].map(str::to_owned)).unwrap().to_string();
        assert!(line.contains("LARIAT_ASKS=7") && line.contains("LARIAT_RESIZES=10000"), "{line}");
        assert!(command_line(&["--ask".to_owned(), "7".to_owned()]).is_err());
    }
}
