//! Measures the machine, the driver and many runs at once. Called by `cargo xtask bench`.
//!
//! Owns the command line. Each measurement prints a table and compares itself with its goal; a goal that is missed
//! fails the command.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

mod machine;
mod measure;
mod runs;

use std::process::ExitCode;

const USAGE: &str = "\
usage: bench machine [--short]   cost per step by length of the conversation, per turn, per idle run
       bench runs [--short]      10,000 concurrent runs of 20 turns";

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Full,
    Short,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, size) = match arguments.as_slice() {
        [name] => (*name, Size::Full),
        [name, "--short"] => (*name, Size::Short),
        _ => ("", Size::Full),
    };
    let met = match name {
        "machine" => machine::measure(size),
        "runs" => runs::measure(size),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
