#![expect(clippy::disallowed_methods, reason = "a test creates its own directories")]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-keys-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn key(text: &str) -> StoredKey {
    StoredKey::Key(text.to_owned())
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn stored_key_is_loaded_again_and_private() {
    let dir = TempDir::new("stored");
    let keys = KeyFile::new(dir.0.join("state/keys.json"));
    keys.store("anthropic", key("sk-1")).unwrap();
    keys.store("openai", key("sk-2")).unwrap();
    assert!(keys.load().unwrap().get("anthropic") == Some(&key("sk-1")));
    assert_eq!(mode(keys.path()), 0o600);
    assert_eq!(mode(keys.path().parent().unwrap()), 0o700);
    keys.remove("openai").unwrap();
    keys.remove("openai").unwrap();
    assert_eq!(keys.load().unwrap().len(), 1);
    let left = std::fs::read_dir(keys.path().parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "no temporary file is left");
}

#[test]
fn refuses_file_that_others_can_read() {
    let dir = TempDir::new("shared");
    let keys = KeyFile::new(dir.0.join("keys.json"));
    keys.store("anthropic", key("sk-1")).unwrap();
    for shared in [0o640, 0o604, 0o660] {
        std::fs::set_permissions(keys.path(), std::fs::Permissions::from_mode(shared)).unwrap();
        let problem = keys.load().unwrap_err();
        assert_eq!(problem.exit, Exit::Setup);
        assert!(problem.cause.contains(&format!("{shared:03o}")), "{problem}");
        assert!(keys.store("openai", key("sk-2")).is_err());
    }
}

#[test]
fn error_about_damaged_file_omits_its_text() {
    let dir = TempDir::new("damaged");
    let keys = KeyFile::new(dir.0.join("keys.json"));
    files::write_private(keys.path(), "{\"anthropic\": \"sk-secret\"").unwrap();
    let text = keys.load().unwrap_err().to_string();
    assert!(text.contains("line 1") && !text.contains("sk-secret"), "{text}");
}

#[test]
fn entry_is_a_key_or_names_its_place() {
    let dir = TempDir::new("forms");
    let keys = KeyFile::new(dir.0.join("keys.json"));
    files::write_private(keys.path(), r#"{ "anthropic": "sk-1", "openai": { "in": "keyring" } }"#).unwrap();
    let stored = keys.load().unwrap();
    assert!(stored.get("anthropic") == Some(&key("sk-1")));
    assert!(stored.get("openai") == Some(&StoredKey::IN_KEYRING));
    keys.store("anthropic", StoredKey::IN_KEYRING).unwrap();
    let written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(keys.path()).unwrap()).unwrap();
    let there = serde_json::json!({ "in": "keyring" });
    assert_eq!(written, serde_json::json!({ "anthropic": there, "openai": there }));
}

#[test]
fn unknown_place_is_an_error_and_keeps_the_file() {
    let dir = TempDir::new("unknown");
    let keys = KeyFile::new(dir.0.join("keys.json"));
    let text = r#"{ "anthropic": "sk-1", "openai": { "in": "vault" } }"#;
    files::write_private(keys.path(), text).unwrap();
    assert!(keys.load().is_err() && keys.store("groq", key("sk-2")).is_err());
    assert_eq!(std::fs::read_to_string(keys.path()).unwrap(), text);
}
