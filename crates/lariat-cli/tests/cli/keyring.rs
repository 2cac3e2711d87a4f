//! Tests keys in the system keyring: they are stored only there, and an unavailable keyring does not block other keys.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use lariat_proofs::engine::process::{Exit, Supervisor};
use lariat_proofs::server::{Script, Server, Turn, Wire};

use crate::desktop::{self, Bus, Keyring, SilentPrompter};
use crate::kit::{CONFIG, Home, RunResult, snap};
use crate::terminal_prompts;

const KEYS: &str = "home/.local/state/lariat/keys.json";
const KEY: &str = "sk-of-the-keyring-1";

/// A home with the address of a session bus; the test starts the bus and the keyring.
fn home() -> Home {
    let home = Home::offline().with("LARIAT_MODEL", "openai/gpt-5.5");
    // Prevents `doctor` from contacting the real provider.
    let settings = home.read(CONFIG);
    home.write(CONFIG, &format!("{settings}[providers.openai]\nbase_url = \"http://127.0.0.1:1/v1\"\n"));
    let address = desktop::address(&home);
    home.with("DBUS_SESSION_BUS_ADDRESS", &address)
}

fn login(home: &Home) -> RunResult {
    home.run_with(&["auth", "login", "openai"], &format!("{KEY}\n"))
}

/// Runs commands in order and records their output. None may print the key.
fn run_steps(home: &Home, text: &mut String, steps: &[&[&str]]) {
    for args in steps {
        let ran = home.run(args);
        assert!(!format!("{ran}").contains(KEY), "{ran}");
        text.push_str(&format!("$ lariat {}\n{ran}\n", args.join(" ")));
    }
}

/// The doctor's finding about the keyring.
fn finding(home: &Home) -> String {
    let findings: serde_json::Value = serde_json::from_str(&home.run(&["doctor", "--json"]).out).unwrap();
    let finding = findings.as_array().unwrap().iter().find(|finding| finding["about"] == "keyring");
    format!("$ lariat doctor --json\n{:#}\n\n", finding.unwrap())
}

/// The key's place, according to `lariat auth status`.
fn place(home: &Home) -> serde_json::Value {
    let statuses: serde_json::Value =
        serde_json::from_slice(&home.bytes(&["auth", "status", "--json"])).unwrap();
    let status = statuses.as_array().unwrap().iter().find(|status| status["provider"] == "openai");
    status.unwrap()["from"].clone()
}

/// Whether the key is in any file of the home.
fn is_in_a_file(folder: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| match path.is_dir() {
        true => is_in_a_file(&path),
        false => String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(KEY),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_key_is_only_in_the_keyring_and_is_used_from_there() {
    let home = home();
    let server = Server::start(Script::queue(vec![Turn::new().text("Hello.")])).await.unwrap();
    let address = server.base_url(Wire::OpenAiChat);
    let service = format!("[providers.openai]\napi = \"openai-chat\"\nbase_url = \"{address}\"\n");
    home.write(CONFIG, &format!("[sandbox]\nenabled = false\n{service}"));
    let (_bus, _keyring) = (Bus::start(&home), Keyring::start(&home));

    let ran = login(&home);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), "stored the key for openai in the system keyring\n"),
        "{ran}"
    );
    let stored: serde_json::Value = serde_json::from_str(&home.read(KEYS)).unwrap();
    assert_eq!(stored, serde_json::json!({ "openai": { "in": "keyring" } }));
    assert_eq!(desktop::key(&home, "openai"), KEY);
    let item = desktop::item(&home, "openai");
    for line in ["label = Lariat: openai", "attribute.application = lariat", "attribute.provider = openai"] {
        assert!(item.contains(line), "{item}");
    }
    assert_eq!(place(&home), "keyring");

    let ran = home.run(&["run", "hello"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "Hello.\n", ""), "{ran}");
    let request = server.requests().into_iter().next().unwrap();
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    assert!(!is_in_a_file(&home.path("home")));

    // Another key replaces it.
    home.run_with(&["auth", "login", "openai"], "sk-of-the-keyring-2\n");
    assert_eq!(desktop::key(&home, "openai"), "sk-of-the-keyring-2");
    assert_eq!(desktop::item(&home, "openai").matches("label =").count(), 1);

    let ran = home.run(&["auth", "logout", "openai"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(desktop::key(&home, "openai"), "");
    assert_eq!(place(&home), serde_json::Value::Null);
    assert_eq!(home.run(&["run", "hello"]).code, Some(3));
}

#[test]
fn stores_key_in_file_without_a_keyring_and_says_so() {
    let mut text = String::new();
    let mut tried = |name: &str, home: &Home| {
        let ran = login(home);
        assert!(!format!("{ran}").contains(KEY), "{ran}");
        text.push_str(&format!("{name}: {ran}\n"));
        let is_stored = home.path(KEYS).exists() && home.read(KEYS).contains(KEY);
        assert_eq!(is_stored, ran.code == Some(0), "{ran}");
        assert_eq!(place(home) == "file", is_stored);
    };
    let home = home();
    tried("no bus there", &home);
    let _bus = Bus::start(&home);
    tried("no keyring on the bus", &home);
    let wanted = self::home().with("LARIAT_AUTH__STORE", "keyring");
    let _other = Bus::start(&wanted);
    tried("no keyring, and no file wanted", &wanted);
    tried("no address of a bus", &Home::offline());
    let _keyring = Keyring::start(&home);
    desktop::lock(&home);
    tried("a locked keyring", &home);
    snap("keyring_fallback", &text);
}

#[test]
fn file_setting_moves_key_from_keyring_to_file() {
    let home = home();
    let (_bus, _keyring) = (Bus::start(&home), Keyring::start(&home));
    login(&home);
    assert_eq!(desktop::key(&home, "openai"), KEY);
    let settings = home.read(CONFIG);
    home.write(CONFIG, &format!("[auth]\nstore = \"file\"\n{settings}"));
    let ran = login(&home);
    assert!(ran.code == Some(0) && !ran.err.contains("keyring"), "{ran}");
    assert_eq!((place(&home), desktop::key(&home, "openai")), ("file".into(), String::new()));
    // And back: then it is no longer in the file.
    home.write(CONFIG, &settings);
    login(&home);
    assert_eq!((place(&home), desktop::key(&home, "openai")), ("keyring".into(), KEY.to_owned()));
    assert!(!is_in_a_file(&home.path("home")));
}

#[test]
fn locked_or_missing_keyring_is_reported_once_without_waiting() {
    let home = home();
    let (bus, keyring) = (Bus::start(&home), Keyring::start(&home));
    login(&home);
    let mut text = String::new();
    let steps: &[&[&str]] = &[&["run", "hello"], &["auth", "logout", "openai"]];
    text.push_str(&finding(&home));
    desktop::lock(&home);
    text.push_str("--- locked\n\n");
    run_steps(&home, &mut text, steps);
    text.push_str(&finding(&home));
    keyring.kill();
    text.push_str("--- not running\n\n");
    run_steps(&home, &mut text, steps);
    text.push_str(&finding(&home));
    drop(bus);
    text.push_str("--- no bus\n\n");
    run_steps(&home, &mut text, steps);
    snap("keyring_gone", &text);
    assert_eq!(place(&home), "keyring", "a key that could not be removed stays listed");
}

#[test]
fn warns_about_key_missing_from_the_keyring() {
    let home = home();
    let (_bus, _keyring) = (Bus::start(&home), Keyring::start(&home));
    home.write(KEYS, r#"{ "openai": { "in": "keyring" } }"#);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(home.path(KEYS), mode).unwrap();
    let mut text = String::new();
    run_steps(&home, &mut text, &[&["run", "hello"], &["auth", "logout", "openai"]]);
    snap("keyring_empty", &text);
}

/// A bus that accepts connections and never replies.
fn silent_bus(home: &Home) -> UnixListener {
    home.write("desktop/x", "");
    let listener = UnixListener::bind(home.path("desktop/bus")).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn does_not_contact_the_keyring_unless_a_needed_key_is_in_it() {
    let server = Server::start(Script::answer(|_| Turn::new().text("Hello.").into())).await.unwrap();
    let address = server.base_url(Wire::OpenAiChat);
    let settings = format!(
        "[sandbox]\nenabled = false\n[providers.openai]\napi = \"openai-chat\"\nbase_url = \"{address}\"\n"
    );
    let home = home();
    home.write(CONFIG, &settings);
    let bus = silent_bus(&home);
    let asked = || bus.accept().is_ok();
    assert_eq!(home.run(&["run", "hello"]).code, Some(3), "no key is available");
    assert!(!asked());
    let stored = |text: &str| {
        home.write(KEYS, text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(home.path(KEYS), mode).unwrap();
    };
    stored(r#"{ "openai": "sk-in-the-file", "groq": { "in": "keyring" } }"#);
    assert_eq!(home.run(&["run", "hello"]).code, Some(0), "the key is in the file");
    assert!(!asked());
    stored(r#"{ "openai": { "in": "keyring" } }"#);
    let status = home.run(&["auth", "status"]);
    assert!(status.code == Some(0) && !asked(), "{status}");
    let variable = self::home().with("OPENAI_API_KEY", "sk-in-a-variable");
    variable.write(CONFIG, &settings);
    let other = silent_bus(&variable);
    variable.write(KEYS, r#"{ "openai": { "in": "keyring" } }"#);
    assert_eq!(variable.run(&["run", "hello"]).code, Some(0), "a variable has a key");
    assert!(other.accept().is_err());
    // The control: the contact is visible, and a keyring that never replies does not block.
    let begun = Instant::now();
    let ran = home.run(&["run", "hello"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    assert!(ran.code == Some(3) && ran.err.matches("no answer within 5 s").count() == 1, "{ran}");
    assert!(asked());
}

#[tokio::test]
async fn asks_to_unlock_keyring_and_continues_without_it() {
    let home = home();
    let (_bus, _keyring) = (Bus::start(&home), Keyring::start(&home));
    desktop::lock(&home);
    let supervisor = Supervisor::new();
    let process = terminal_prompts::start(&supervisor, &home, &["auth", "login", "openai"]).await;
    terminal_prompts::shows(&process, "API key for openai: ").await;
    process.write(format!("{KEY}\n").as_bytes()).await.unwrap();
    let finished = process.wait().await;
    let shown = finished.output.text();
    assert_eq!(finished.exit, Exit::Code(0), "{shown}");
    assert!(shown.contains("the keyring is locked: unlock it within 30 s"), "{shown}");
    assert!(shown.contains("was not unlocked"), "{shown}");
    assert_eq!(place(&home), "file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupt_ends_the_wait_for_the_keyring_password() {
    let home = home();
    let (_bus, _keyring) = (Bus::start(&home), Keyring::start(&home));
    let supervisor = Supervisor::new();
    login(&home);
    desktop::lock(&home);
    let _prompter = SilentPrompter::start(&home).await;
    let ends = [
        // A run continues without the key; a command without a signal handler is ended.
        (&["run", "hello"][..], Exit::Code(3)),
        (&["auth", "logout", "openai"], Exit::Signal(2)),
    ];
    for (args, end) in ends {
        let begun = Instant::now();
        let process = terminal_prompts::start(&supervisor, &home, args).await;
        terminal_prompts::shows(&process, "unlock it within 30 s").await;
        process.write(b"\x03").await.unwrap();
        let finished = process.wait().await;
        assert_eq!(finished.exit, end, "{}", finished.output.text());
        assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    }
}
