//! The command line that the proofs' binaries share.
//!
//! Owns how options are read and how a proof ends: 0 when it holds, 1 when it does not, 2 when it could not be begun.

use std::process::ExitCode;

/// The exit code of a proof; one that could not be begun says why, and how it is used.
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

/// The value of `--name VALUE` among options.
pub fn option<'a>(options: &[&'a str], name: &str) -> Option<&'a str> {
    let at = options.iter().position(|option| *option == name)?;
    options.get(at + 1).copied()
}

/// The number of `--name N` among options.
///
/// # Errors
/// When it is there and not a number.
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
