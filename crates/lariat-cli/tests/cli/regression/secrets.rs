//! Secrets of the user that errors, notes, logs and settings showed.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::kit::{CONFIG, Home};

const TOKEN: &str = "tok-31d1cbe7a07f";

/// An MCP server that prints its token and exits.
fn home_with_a_loud_server() -> Home {
    let home = Home::offline();
    home.write("home/server.sh", "#!/bin/sh\necho \"cannot log in with $TOKEN\" >&2\nexit 1\n");
    std::fs::set_permissions(home.path("home/server.sh"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let settings = home.read(CONFIG);
    let server = home.path("home/server.sh").display().to_string();
    let entry = format!(
        "[mcp_servers.loud]\ncommand = \"{server}\"\nenv = {{ TOKEN = \"{TOKEN}\" }}\nsandbox = {{ enabled = false }}\n"
    );
    home.write(CONFIG, &format!("{settings}{entry}"));
    home
}

#[test]
fn token_that_an_mcp_server_prints_is_not_shown() {
    let home = home_with_a_loud_server();
    for command in [["mcp", "test", "loud"], ["mcp", "logs", "loud"]] {
        let ran = home.run(&command);
        assert!(format!("{ran}").contains("cannot log in"), "{ran}");
        assert!(!format!("{ran}").contains(TOKEN), "{ran}");
    }
}

#[test]
fn log_of_an_mcp_server_is_private_and_has_no_token() {
    let home = home_with_a_loud_server();
    home.run(&["mcp", "test", "loud"]);
    let mut logs = 0;
    for entry in std::fs::read_dir(home.path("home/.local/state/lariat/mcp")).unwrap().map(Result::unwrap) {
        let text = String::from_utf8(std::fs::read(entry.path()).unwrap()).unwrap();
        assert!(!text.contains(TOKEN), "{text}");
        assert_eq!(entry.metadata().unwrap().mode() & 0o777, 0o600, "{:?}", entry.path());
        logs += usize::from(text.contains("cannot log in"));
    }
    assert_eq!(logs, 1);
}

#[test]
fn password_in_the_address_of_a_model_is_not_shown() {
    let home = Home::offline();
    let settings = home.read(CONFIG);
    let provider = "[providers.gone]\napi = \"openai-chat\"\nbase_url = \"http://me:word-1234@127.0.0.1:9/v1?code=c-5678\"\n";
    home.write(CONFIG, &format!("[retry]\nattempts = 0\n{settings}{provider}"));
    for command in [
        &["run", "--model", "gone/m", "Hello."] as &[&str],
        &["config", "show"],
        &["config", "show", "--json"],
    ] {
        let ran = format!("{}", home.run(command));
        assert!(ran.contains("127.0.0.1:9/v1"), "{ran}");
        assert!(!ran.contains("word-1234") && !ran.contains("c-5678"), "{ran}");
    }
}
