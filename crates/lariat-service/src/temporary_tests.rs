//! Tests of the private `/tmp` directories.
#![expect(clippy::disallowed_methods, reason = "the tests use real directories")]

use super::*;

fn folders(name: &str) -> UserDirectories {
    let base = std::env::temp_dir().join(format!("lariat-temporary-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&base);
    UserDirectories { home: base.clone(), config: base.join("config"), state: base.join("state") }
}

#[test]
fn keeps_files_until_the_session_is_deleted() {
    let folders = folders("keep");
    let own = directory(&folders, "a/b").unwrap();
    std::fs::write(own.join("x"), "1").unwrap();
    assert_eq!(directory(&folders, "a/b").unwrap(), own);
    assert!(own.join("x").exists());
    remove(&folders, "a/b").unwrap();
    assert!(!own.exists());
    remove(&folders, "a/b").unwrap();
    std::fs::remove_dir_all(&folders.home).unwrap();
}

#[test]
fn removes_directories_unused_for_a_month() {
    let folders = folders("unused");
    let old = directory(&folders, "old").unwrap();
    let recent = directory(&folders, "recent").unwrap();
    let age = |path: &Path, days: u64| {
        let time = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        std::fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    age(&old, 31);
    age(&recent, 29);
    directory(&folders, "new").unwrap();
    assert!(!old.exists() && recent.exists());
    std::fs::remove_dir_all(&folders.home).unwrap();
}
