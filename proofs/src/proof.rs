//! Command-line helpers that the proofs share: parsing of options, and exit codes: 0 for success, 1 for
//! failure, 2 if the proof could not start.

use std::process::ExitCode;

/// The exit code of a proof. If the proof could not start, prints the error and the usage.
pub fn ended(ran: Result<bool, String>, usage: &str) -> ExitCode {
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}\n\n{usage}");
            ExitCode::from(2)
        }
    }
}

/// Ends a proof that ran until its first fault: prints the fault. Returns whether there was none.
pub fn found_no_fault(fault: Option<&str>) -> bool {
    if let Some(fault) = fault {
        println!("{fault}");
    }
    fault.is_none()
}

/// The value of `--name VALUE` among the options.
pub fn option<'a>(options: &[&'a str], name: &str) -> Option<&'a str> {
    let at = options.iter().position(|option| *option == name)?;
    options.get(at + 1).copied()
}

/// The number of `--name N` among the options.
///
/// # Errors
/// Fails if the option is given and not a number.
pub fn number(options: &[&str], name: &str, default: u64) -> Result<u64, String> {
    match option(options, name) {
        None => Ok(default),
        Some(text) => text.replace('_', "").parse().map_err(|_| format!("{name}: `{text}` is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_by_name() {
        let options = ["--rounds", "1_000", "--planted"];
        assert_eq!(number(&options, "--rounds", 7), Ok(1000));
        assert_eq!(number(&options, "--points", 7), Ok(7));
        assert!(number(&["--rounds", "many"], "--rounds", 7).is_err());
        assert_eq!(option(&options, "--planted"), None);
    }
}
