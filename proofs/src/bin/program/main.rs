//! Proves guarantees of the built program `lariat`, which it starts as a user does. Called by `cargo xtask cuts`
//! and its siblings.
//!
//! `lariat` is the program beside this one, or the one that `--program` names. Models, homes and projects are this
//! proof's own: nothing reads the settings of the user who runs it.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool looks at the world from outside: files, processes and the wall clock"
)]

mod cuts;
mod home;
mod secrets;

use std::process::ExitCode;

use lariat_proofs::proof::ended;

const USAGE: &str = "\
usage: program cuts [--cases N] [--kills N] [--program PATH]  cut replies at every byte, and kill the program in tool
                                                              calls [every byte; 60 kills]
       program cuts --planted                                 check that every planted mistake is noticed
       program secrets [--planted] [--program PATH]           put secrets in the way of the program, and look for them
                                                              in everything that it leaves, prints and sends";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.split_first() {
        Some((&"cuts", options)) => cuts::run(options),
        Some((&"secrets", options)) => secrets::run(options),
        _ => Err("missing or unknown proof".to_owned()),
    };
    ended(ran, USAGE)
}
