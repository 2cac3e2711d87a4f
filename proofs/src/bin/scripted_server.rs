//! Plays a model that uses tools, in seven protocols, until it is killed.
//!
//! Prints `listening ADDRESS` once it accepts connections; `cargo xtask sdk` waits for that line.

use std::process::ExitCode;

use lariat_proofs::server::{Script, Server};

const USAGE: &str = "usage: scripted_server [--port N]   [default: 0, any free port]";

fn main() -> ExitCode {
    let Some(port) = port(&std::env::args().skip(1).collect::<Vec<_>>()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot listen on port {port}: {error}; choose another with --port");
            ExitCode::FAILURE
        }
    }
}

fn port(arguments: &[String]) -> Option<u16> {
    match arguments {
        [] => Some(0),
        [flag, port] if flag == "--port" => port.parse().ok(),
        _ => None,
    }
}

fn run(port: u16) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::start_on(port, Script::tool_loop()).await?;
        println!("listening {}", server.address());
        server.wait().await;
        Ok(())
    })
}
