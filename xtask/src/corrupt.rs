//! Builds the command line of the proof that damaged session files are recovered: a test of the store,
//! optimised.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;

/// Number of damaged files in a full run.
const MUTANTS: &str = "1000000";

/// Runs with `--mutants N` damaged files, or only with the one of `--seed N`.
pub(crate) fn corrupt(arguments: &[String]) -> Result<CommandLine> {
    let (name, value) = match arguments {
        [] => ("LARIAT_CORRUPT_MUTANTS", MUTANTS),
        [option, value] if option == "--mutants" => ("LARIAT_CORRUPT_MUTANTS", value.as_str()),
        [option, value] if option == "--seed" => ("LARIAT_CORRUPT_SEED", value.as_str()),
        _ => bail!("`corrupt` accepts `--mutants N` or `--seed N`, not `{}`", arguments.join(" ")),
    };
    let test = CommandLine::cargo(
        "test --profile proof --locked -p lariat-store --test store -- corrupt --nocapture",
    );
    Ok(test.with_environment(name, value))
}

#[cfg(test)]
mod tests {
    use super::corrupt;

    #[test]
    fn passes_the_number_of_damaged_files_in_the_environment() {
        let line = corrupt(&["--mutants".to_owned(), "9".to_owned()]).unwrap().to_string();
        assert!(line.starts_with("LARIAT_CORRUPT_MUTANTS=9 cargo test --profile proof"), "{line}");
        assert!(corrupt(&["--mutants".to_owned()]).is_err());
    }
}
