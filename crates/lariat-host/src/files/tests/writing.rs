use super::*;

#[test]
fn a_new_file_comes_with_its_directories_and_the_usual_rights() {
    let ground = Ground::new();
    ground.workspace.write("x/y/new", b"hello", &Expected::Absent).unwrap();
    assert_eq!(ground.content("x/y/new"), "hello");
    fs::write(ground.at("usual"), "").unwrap();
    let mode = |path: &str| fs::metadata(ground.at(path)).unwrap().permissions().mode();
    assert_eq!(mode("x/y/new"), mode("usual"));
    let error = ground.workspace.write("x/y/new", b"again", &Expected::Absent).unwrap_err();
    assert_eq!(error, FileError::Exists("x/y/new".into()));
    assert_eq!(ground.content("x/y/new"), "hello");
}

#[test]
fn a_replaced_file_keeps_mode_and_owner_and_its_links_are_broken() {
    let ground = Ground::new();
    ground.put("tool", "old");
    fs::set_permissions(ground.at("tool"), fs::Permissions::from_mode(0o751)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(ground.at("tool"), Some(1234), Some(4321)).unwrap();
    }
    let before = fs::metadata(ground.at("tool")).unwrap();
    fs::hard_link(ground.at("tool"), ground.base.join("out/linked")).unwrap();
    let known = ground.known("tool");
    let written = ground.workspace.write("tool", b"new", &Expected::Unchanged(known)).unwrap();
    let after = fs::metadata(ground.at("tool")).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_eq!(ground.content("tool"), "new");
    assert_eq!(fs::read_to_string(ground.base.join("out/linked")).unwrap(), "old");
    assert_eq!(written.known, ground.known("tool"));
    assert_eq!(ground.left_behind(), Vec::<String>::new());
}

#[test]
fn a_link_at_the_end_is_written_through() {
    let ground = Ground::new();
    ground.put("real/file", "old");
    symlink(ground.at("real/file"), ground.at("link")).unwrap();
    let known = ground.known("link");
    ground.workspace.write("link", b"new", &Expected::Unchanged(known)).unwrap();
    assert_eq!(ground.content("real/file"), "new");
    assert!(fs::symlink_metadata(ground.at("link")).unwrap().is_symlink());
}

#[test]
fn a_file_that_changed_is_left_alone() {
    let ground = Ground::new();
    ground.put("a", "read");
    let known = ground.known("a");
    ground.put("a", "theirs");
    let error = ground.workspace.write("a", b"mine", &Expected::Unchanged(known.clone())).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    ground.put("a", "diff");
    let error = ground.workspace.write("a", b"mine", &Expected::Unchanged(known.clone())).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    assert_eq!(ground.content("a"), "diff");
    let error = ground.workspace.remove("a", &Expected::Unchanged(known.clone())).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    fs::remove_file(ground.at("a")).unwrap();
    let error = ground.workspace.write("a", b"mine", &Expected::Unchanged(known)).unwrap_err();
    assert_eq!(error, FileError::Changed("a".into()));
    assert_eq!(ground.left_behind(), Vec::<String>::new());
}

#[test]
fn a_file_that_was_only_touched_is_the_same_file() {
    let ground = Ground::new();
    ground.put("a", "read");
    let known = ground.known("a");
    ground.put("a", "other");
    ground.put("a", "read");
    ground.workspace.write("a", b"mine", &Expected::Unchanged(known)).unwrap();
    assert_eq!(ground.content("a"), "mine");
}

#[test]
fn two_writers_that_read_the_same_never_both_win() {
    let ground = Ground::new();
    let workspace = ground.workspace.clone().with_sync(Sync::Fast);
    for round in 0..300 {
        ground.put("a", &format!("start {round}"));
        let known = ground.known("a");
        let wins: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let (workspace, known) = (&workspace, known.clone());
                    scope.spawn(move || {
                        let text = format!("writer {writer}");
                        workspace.write("a", text.as_bytes(), &Expected::Unchanged(known))
                    })
                })
                .collect();
            writers
                .into_iter()
                .filter(|_| true)
                .map(|writer| usize::from(writer.join().unwrap().is_ok()))
                .sum()
        });
        assert_eq!(wins, 1, "round {round}: {}", ground.content("a"));
        assert!(ground.content("a").starts_with("writer"));
        for kept in ground.left_behind() {
            fs::remove_file(ground.at(&kept)).unwrap();
        }
    }
}

#[test]
fn files_are_removed_and_renamed_beneath_the_roots_only() {
    let ground = Ground::new();
    ground.put("a", "1");
    ground.put("b", "2");
    symlink("../out/canary", ground.at("link")).unwrap();
    assert_eq!(ground.workspace.rename("a", "b"), Err(FileError::Exists("b".into())));
    assert!(ground.workspace.rename("a", "../out/a").is_err());
    ground.workspace.rename("a", "deep/er/a").unwrap();
    assert_eq!(ground.content("deep/er/a"), "1");
    ground.workspace.remove("b", &Expected::Unchanged(ground.known("b"))).unwrap();
    assert!(!ground.at("b").exists());
    ground.workspace.remove("link", &Expected::Any).unwrap();
    assert!(ground.base.join("out/canary").exists());
    assert!(matches!(
        ground.workspace.remove("../out/canary", &Expected::Any),
        Err(FileError::Outside { .. })
    ));
    assert!(matches!(ground.workspace.remove("deep", &Expected::Any), Err(FileError::IsDirectory(_))));
}

#[test]
fn a_directory_is_listed_in_order_and_within_its_bound() {
    let ground = Ground::new();
    for name in ["b", "a", "c/d"] {
        ground.put(name, "");
    }
    let (entries, more) = ground.workspace.list(".", 10).unwrap();
    let names: Vec<_> = entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
    assert_eq!(names, [("a", Kind::File), ("b", Kind::File), ("c", Kind::Directory)]);
    assert!(!more);
    assert!(ground.workspace.list(".", 2).unwrap().1);
    assert_eq!(ground.workspace.list("a", 2), Err(FileError::NotADirectory("a".into())));
}
