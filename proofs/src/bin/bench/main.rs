//! Benchmarks the gate, the machine, the driver, many concurrent runs, model clients, stores, tools and whole
//! turns. Called by `cargo xtask bench`.
//!
//! Each measurement prints a table and compares its figures with their goals; a missed goal fails the
//! command.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

mod gate;
mod machine;
mod measure;
#[cfg(feature = "wire")]
mod model;
mod runs;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "tools")]
mod tools;
#[cfg(all(feature = "wire", feature = "store"))]
mod turn;

use std::process::ExitCode;

const USAGE: &str = "\
usage: bench gate [--short]      cost of the permission gate for an allowed tool call
       bench machine [--short]   cost per step by length of the conversation, per turn, per idle run
       bench model [--short]     streamed events compared with a bare HTTP client, first delta, building requests
       bench runs [--short]      10,000 concurrent runs of 20 turns
       bench store [--short] [append|list|long]
                                 stores compared with bare engines; listing; resuming and forking a long session
       bench tools [--short]     tools compared with rg and a bare spawn, on 100,000 files
       bench turn [--short]      a turn of the whole runtime compared with a bare HTTP call and a bare durable insert";

/// Full or short form of a measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Full,
    Short,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let met = match arguments.as_slice() {
        ["gate"] => Some(gate::measure(Size::Full)),
        ["gate", "--short"] => Some(gate::measure(Size::Short)),
        ["machine"] => Some(machine::measure(Size::Full)),
        ["machine", "--short"] => Some(machine::measure(Size::Short)),
        #[cfg(feature = "wire")]
        ["model", options @ ..] => model::run(options),
        ["runs"] => Some(runs::measure(Size::Full)),
        ["runs", "--short"] => Some(runs::measure(Size::Short)),
        #[cfg(feature = "store")]
        ["store", options @ ..] => store::run(options),
        #[cfg(feature = "tools")]
        ["tools"] => Some(tools::measure(Size::Full)),
        #[cfg(feature = "tools")]
        ["tools", "--short"] => Some(tools::measure(Size::Short)),
        #[cfg(all(feature = "wire", feature = "store"))]
        ["turn"] => Some(turn::measure(Size::Full)),
        #[cfg(all(feature = "wire", feature = "store"))]
        ["turn", "--short"] => Some(turn::measure(Size::Short)),
        _ => None,
    };
    match met {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::FAILURE,
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
