#![expect(clippy::disallowed_methods, reason = "a test's own directory")]

use super::*;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn restricts_open_files_and_reports_it() {
    let root = std::env::temp_dir().join(format!("lariat-private-{}", std::process::id()));
    let state = root.join("a/state");
    assert_eq!(folder(&state).unwrap(), Was::Private);
    assert_eq!((mode(&state), mode(&root)), (0o700, 0o700));
    std::fs::set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    assert_eq!((folder(&state).unwrap(), folder(&state).unwrap()), (Was::Open, Was::Private));
    let file = state.join("sessions.db");
    assert_eq!((database(&file).unwrap(), mode(&file)), (Was::Private, 0o600));
    for open in [file.clone(), state.join("sessions.db-wal")] {
        std::fs::write(&open, "").unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
        assert_eq!((database(&file).unwrap(), mode(&open)), (Was::Open, 0o600), "{open:?}");
    }
    std::fs::remove_dir_all(&root).unwrap();
}
