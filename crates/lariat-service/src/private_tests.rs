#![expect(clippy::disallowed_methods, reason = "a test's own directory")]

use super::*;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn restricts_open_files_and_reports_it() {
    let root = std::env::temp_dir().join(format!("lariat-private-{}", std::process::id()));
    let state = root.join("a/state");
    assert_eq!(directory(&state).unwrap(), PriorAccess::Private);
    assert_eq!((mode(&state), mode(&root)), (0o700, 0o700));
    std::fs::set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        (directory(&state).unwrap(), directory(&state).unwrap()),
        (PriorAccess::Open, PriorAccess::Private)
    );
    let file = state.join("sessions.db");
    assert_eq!((database(&file).unwrap(), mode(&file)), (PriorAccess::Private, 0o600));
    for open in [file.clone(), state.join("sessions.db-wal")] {
        std::fs::write(&open, "").unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
        assert_eq!((database(&file).unwrap(), mode(&open)), (PriorAccess::Open, 0o600), "{open:?}");
    }
    std::fs::remove_dir_all(&root).unwrap();
}
