use super::*;

#[test]
fn creates_a_new_file_with_directories_and_default_mode() {
    let fixture = Fixture::new();
    fixture.workspace.write("x/y/new", b"hello", &WriteCondition::Absent).unwrap();
    assert_eq!(fixture.content("x/y/new"), "hello");
    fs::write(fixture.at("usual"), "").unwrap();
    let mode = |path: &str| fs::metadata(fixture.at(path)).unwrap().permissions().mode();
    assert_eq!(mode("x/y/new"), mode("usual"));
    let error = fixture.workspace.write("x/y/new", b"again", &WriteCondition::Absent).unwrap_err();
    assert_eq!(error, FileError::Exists("x/y/new".into()));
    assert_eq!(fixture.content("x/y/new"), "hello");
}

#[test]
fn replacing_keeps_mode_and_owner_and_breaks_hard_links() {
    let fixture = Fixture::new();
    fixture.put("tool", "old");
    fs::set_permissions(fixture.at("tool"), fs::Permissions::from_mode(0o751)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(fixture.at("tool"), Some(1234), Some(4321)).unwrap();
    }
    let before = fs::metadata(fixture.at("tool")).unwrap();
    fs::hard_link(fixture.at("tool"), fixture.base.join("out/linked")).unwrap();
    let known = fixture.known("tool");
    let written = fixture.workspace.write("tool", b"new", &WriteCondition::Unchanged(known)).unwrap();
    let after = fs::metadata(fixture.at("tool")).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_eq!(fixture.content("tool"), "new");
    assert_eq!(fs::read_to_string(fixture.base.join("out/linked")).unwrap(), "old");
    assert_eq!(written.known, fixture.known("tool"));
    assert_eq!(fixture.left_behind(), Vec::<String>::new());
}

#[test]
fn write_follows_a_link_at_the_end_of_the_path() {
    let fixture = Fixture::new();
    fixture.put("real/file", "old");
    symlink(fixture.at("real/file"), fixture.at("link")).unwrap();
    let known = fixture.known("link");
    fixture.workspace.write("link", b"new", &WriteCondition::Unchanged(known)).unwrap();
    assert_eq!(fixture.content("real/file"), "new");
    assert!(fs::symlink_metadata(fixture.at("link")).unwrap().is_symlink());
}

#[test]
fn write_fails_if_the_file_changed() {
    let fixture = Fixture::new();
    fixture.put("a", "read");
    let known = fixture.known("a");
    fixture.put("a", "theirs");
    let error = fixture.workspace.write("a", b"mine", &WriteCondition::Unchanged(known.clone())).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    fixture.put("a", "diff");
    let error = fixture.workspace.write("a", b"mine", &WriteCondition::Unchanged(known.clone())).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    assert_eq!(fixture.content("a"), "diff");
    let error = fixture.workspace.remove("a", &WriteCondition::Unchanged(known.clone())).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    fs::remove_file(fixture.at("a")).unwrap();
    let error = fixture.workspace.write("a", b"mine", &WriteCondition::Unchanged(known)).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    assert_eq!(fixture.left_behind(), Vec::<String>::new());
}

#[test]
fn write_succeeds_if_only_timestamps_changed() {
    let fixture = Fixture::new();
    fixture.put("a", "read");
    let known = fixture.known("a");
    fixture.put("a", "other");
    fixture.put("a", "read");
    fixture.workspace.write("a", b"mine", &WriteCondition::Unchanged(known)).unwrap();
    assert_eq!(fixture.content("a"), "mine");
}

#[test]
fn concurrent_writers_never_both_win() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace.clone().with_sync(Sync::Fast);
    for round in 0..300 {
        fixture.put("a", &format!("start {round}"));
        let known = fixture.known("a");
        let wins: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let (workspace, known) = (&workspace, known.clone());
                    scope.spawn(move || {
                        let text = format!("writer {writer}");
                        workspace.write("a", text.as_bytes(), &WriteCondition::Unchanged(known))
                    })
                })
                .collect();
            writers
                .into_iter()
                .filter(|_| true)
                .map(|writer| usize::from(writer.join().unwrap().is_ok()))
                .sum()
        });
        assert_eq!(wins, 1, "round {round}: {}", fixture.content("a"));
        assert!(fixture.content("a").starts_with("writer"));
        for kept in fixture.left_behind() {
            fs::remove_file(fixture.at(&kept)).unwrap();
        }
    }
}

#[test]
fn removes_and_renames_only_beneath_roots() {
    let fixture = Fixture::new();
    fixture.put("a", "1");
    fixture.put("b", "2");
    symlink("../out/canary", fixture.at("link")).unwrap();
    assert_eq!(fixture.workspace.rename("a", "b"), Err(FileError::Exists("b".into())));
    assert!(fixture.workspace.rename("a", "../out/a").is_err());
    fixture.workspace.rename("a", "deep/er/a").unwrap();
    assert_eq!(fixture.content("deep/er/a"), "1");
    fixture.workspace.remove("b", &WriteCondition::Unchanged(fixture.known("b"))).unwrap();
    assert!(!fixture.at("b").exists());
    fixture.workspace.remove("link", &WriteCondition::Any).unwrap();
    assert!(fixture.base.join("out/canary").exists());
    assert!(matches!(
        fixture.workspace.remove("../out/canary", &WriteCondition::Any),
        Err(FileError::Outside { .. })
    ));
    assert!(matches!(fixture.workspace.remove("deep", &WriteCondition::Any), Err(FileError::IsDirectory(_))));
}

#[test]
fn list_is_sorted_and_limited() {
    let fixture = Fixture::new();
    for name in ["b", "a", "c/d"] {
        fixture.put(name, "");
    }
    let (entries, more) = fixture.workspace.list(".", 10).unwrap();
    let names: Vec<_> = entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
    assert_eq!(names, [("a", EntryKind::File), ("b", EntryKind::File), ("c", EntryKind::Directory)]);
    assert!(!more);
    assert!(fixture.workspace.list(".", 2).unwrap().1);
    assert_eq!(fixture.workspace.list("a", 2), Err(FileError::NotADirectory("a".into())));
}
