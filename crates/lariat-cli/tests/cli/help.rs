//! Tests the help of every command, completions and man pages.

use crate::kit::{Home, snap};

/// All commands.
pub(crate) const COMMANDS: &[&str] = &[
    "",
    "acp",
    "agents",
    "agents list",
    "attach",
    "auth",
    "auth login",
    "auth logout",
    "auth status",
    "budget",
    "budget extend",
    "budget show",
    "checkpoint",
    "commands",
    "commands list",
    "compact",
    "completions",
    "config",
    "config edit",
    "config path",
    "config schema",
    "config set",
    "config show",
    "context",
    "context show",
    "doctor",
    "goals",
    "goals add",
    "goals done",
    "goals drop",
    "goals list",
    "host",
    "host serve",
    "host status",
    "host stop",
    "init",
    "loop",
    "man",
    "mcp",
    "mcp add",
    "mcp get",
    "mcp list",
    "mcp login",
    "mcp logout",
    "mcp logs",
    "mcp remove",
    "mcp serve",
    "mcp test",
    "mcp trust",
    "memory",
    "memory add",
    "memory approve",
    "memory done",
    "memory list",
    "memory off",
    "memory on",
    "memory path",
    "memory remove",
    "memory search",
    "memory show",
    "metrics",
    "models",
    "models list",
    "models show",
    "openapi",
    "openapi add",
    "openapi list",
    "openapi remove",
    "openapi show",
    "openapi test",
    "openapi trust",
    "permissions",
    "permissions explain",
    "permissions list",
    "permissions revoke",
    "permissions test",
    "pin",
    "plan",
    "plan approve",
    "plan reject",
    "plan show",
    "ps",
    "race",
    "race diff",
    "race show",
    "race take",
    "replay",
    "restore",
    "run",
    "sessions",
    "sessions approve",
    "sessions cost",
    "sessions delete",
    "sessions edit",
    "sessions export",
    "sessions fork",
    "sessions import",
    "sessions interrupt",
    "sessions list",
    "sessions queue",
    "sessions remove-message",
    "sessions repair",
    "sessions rewind",
    "sessions show",
    "sessions steer",
    "sessions tail",
    "sessions verify",
    "stop",
    "trust",
    "undo",
    "unpin",
];

#[test]
fn every_command_has_help() {
    let home = Home::new();
    let mut text = String::new();
    // The flags of `run` are tested with `run`.
    for command in COMMANDS.iter().filter(|command| **command != "run") {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        let ran = home.run(&args);
        assert_eq!(ran.code, Some(0), "{command}: {ran}");
        assert!(ran.err.is_empty(), "{command}: {ran}");
        let lines: String = ran.out.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        text.push_str(&format!("$ lariat {}\n{lines}\n", args.join(" ")));
    }
    snap("help", &text);
}

#[test]
fn manual_has_a_page_per_command_and_exit_codes() {
    let home = Home::new();
    let ran = home.run(&["man", "--dir", "pages"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut pages: Vec<String> = std::fs::read_dir(home.path("project/pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    let mut expected: Vec<String> = COMMANDS
        .iter()
        .map(|command| std::iter::once("lariat").chain(command.split_whitespace()).collect::<Vec<_>>())
        .map(|words| format!("{}.1", words.join("-")))
        .collect();
    expected.sort();
    assert_eq!(pages, expected);
    let first = home.read("project/pages/lariat.1");
    assert!(first.contains("EXIT STATUS") && first.contains("\\fB130\\fR"), "{first}");
    assert_eq!(home.run(&["man"]).out.trim_end(), first.trim_end());
}

#[test]
fn generates_completions_for_every_shell() {
    let home = Home::new();
    for (shell, sign) in [
        ("bash", "complete -F _lariat"),
        ("zsh", "#compdef lariat"),
        ("fish", "complete -c lariat"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let ran = home.run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}: {ran}");
        assert!(ran.out.contains(sign) && ran.out.contains("rewind"), "{shell}");
    }
}
