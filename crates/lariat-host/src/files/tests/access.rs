use super::*;

#[test]
fn opens_a_file_by_every_spelling_of_its_path() {
    let fixture = Fixture::new();
    fixture.put("a/b.txt", "here");
    fs::create_dir_all(fixture.at("c")).unwrap();
    symlink(fixture.at("a"), fixture.at("absolute")).unwrap();
    symlink("../a", fixture.at("c/relative")).unwrap();
    symlink(fixture.at("absolute/b.txt"), fixture.at("chain")).unwrap();
    symlink("../ws/a", fixture.at("around")).unwrap();
    let absolute = fixture.at("a/b.txt").display().to_string();
    let dotted = fixture.base.join("out/../ws/a/b.txt").display().to_string();
    for path in [
        "a/b.txt",
        "./a//b.txt",
        "c/../a/b.txt",
        "absolute/b.txt",
        "c/relative/b.txt",
        "chain",
        "around/b.txt",
        "../ws/a/b.txt",
        &absolute,
        &dotted,
    ] {
        assert_eq!(fixture.read(path).as_deref(), Ok("here"), "{path}");
    }
}

#[test]
fn denies_paths_outside_the_workspace() {
    let fixture = Fixture::new();
    fixture.put("a/b.txt", "here");
    symlink(fixture.base.join("out"), fixture.at("absolute")).unwrap();
    symlink("../out", fixture.at("relative")).unwrap();
    symlink("../out/canary", fixture.at("file")).unwrap();
    symlink("file", fixture.at("chain")).unwrap();
    symlink("/proc/self/root", fixture.at("magic")).unwrap();
    let sibling = fixture.base.join("ws-evil");
    fs::create_dir_all(&sibling).unwrap();
    fs::write(sibling.join("canary"), "outside").unwrap();
    let sibling = sibling.join("canary").display().to_string();
    for path in [
        "../out/canary",
        "a/../../out/canary",
        "absolute/canary",
        "relative/canary",
        "file",
        "chain",
        "/etc/passwd",
        "magic/etc/passwd",
        &sibling,
    ] {
        let error = fixture.read(path).unwrap_err();
        assert!(matches!(error, FileError::Outside { .. }), "{path}: {error:?}");
        let error = fixture.workspace.write(path, b"changed", &WriteCondition::Any).unwrap_err();
        assert!(matches!(error, FileError::Outside { .. }), "{path}: {error:?}");
    }
    assert_eq!(fs::read_to_string(fixture.base.join("out/canary")).unwrap(), "outside");
}

#[test]
fn never_follows_kernel_links() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace.clone().with_root("/proc", Access::ReadOnly).unwrap();
    let workspace = workspace.with_root("/", Access::ReadOnly).unwrap();
    let root = format!("/proc/self/root{}", fixture.base.join("out/canary").display());
    for path in
        [root.as_str(), "/proc/self/cwd/Cargo.toml", "/proc/thread-self/root/etc/passwd", "/proc/self/exe"]
    {
        let error = workspace.read(path, 1 << 30).unwrap_err();
        assert!(matches!(error, FileError::Links(_)), "{path}: {error:?}");
    }
    assert!(workspace.read("/proc/self/status", 1 << 20).is_ok());
}

#[test]
fn follows_a_link_to_another_root() {
    let fixture = Fixture::new();
    symlink(fixture.base.join("out"), fixture.at("more")).unwrap();
    let workspace = fixture.workspace.clone().with_root(fixture.base.join("out"), Access::ReadOnly).unwrap();
    assert_eq!(workspace.read("more/canary", 100).unwrap().bytes, b"outside");
    let error = workspace.write("more/canary", b"x", &WriteCondition::Any).unwrap_err();
    assert_eq!(error, FileError::ReadOnly("more/canary".into()));
    let error = workspace.write("more/new/file", b"x", &WriteCondition::Absent).unwrap_err();
    assert_eq!(error, FileError::ReadOnly("more/new/file".into()));
    assert!(!fixture.base.join("out/new").exists());
}

#[test]
fn read_only_root_inside_a_writable_one_stays_read_only() {
    let fixture = Fixture::new();
    fixture.put("vendor/deep/a", "kept");
    let workspace = fixture.workspace.clone().with_root(fixture.at("vendor"), Access::ReadOnly).unwrap();
    for path in ["vendor/deep/a", "vendor/new"] {
        let error = workspace.write(path, b"x", &WriteCondition::Any).unwrap_err();
        assert_eq!(error, FileError::ReadOnly(path.into()));
    }
    assert!(workspace.write("free/a", b"x", &WriteCondition::Absent).is_ok());
}

#[test]
fn errors_name_the_type_of_special_files() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.at("folder")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.at("socket")).unwrap();
    symlink("circle", fixture.at("circle")).unwrap();
    fixture.put("file", "x");
    let shown = |path: &str| fixture.read(path).unwrap_err().to_string();
    assert_eq!(shown("folder"), "`folder` is a directory, not a file. List it instead.");
    assert_eq!(shown("pipe"), "`pipe` is a named pipe. Only regular files are read and written.");
    assert_eq!(shown("socket"), "`socket` is a socket. Only regular files are read and written.");
    assert!(matches!(fixture.read("circle"), Err(FileError::Links(_))));
    assert!(matches!(fixture.read("file/x"), Err(FileError::NotADirectory(_))));
    for path in ["pipe", "socket", "folder", "circle", "file/x", "folder/", ".", ".."] {
        assert!(fixture.workspace.write(path, b"x", &WriteCondition::Any).is_err(), "{path}");
    }
}

#[test]
fn rejects_malformed_paths() {
    let fixture = Fixture::new();
    for path in ["", "a\0b", "~", "~/x", &"n".repeat(300), &"d/".repeat(3000)] {
        let error = fixture.read(path).unwrap_err();
        assert!(matches!(error, FileError::Malformed { .. }), "{path:?}: {error:?}");
        assert!(error.to_string().len() < 250);
    }
}

#[test]
fn missing_file_error_suggests_the_nearest_name() {
    let fixture = Fixture::new();
    fixture.put("src/main.rs", "");
    let shown = |path: &str| fixture.read(path).unwrap_err().to_string();
    assert_eq!(shown("src/Main.rs"), "`src/Main.rs` does not exist. Did you mean `src/main.rs`?");
    assert_eq!(shown("sr/main.rs"), "`sr/main.rs` does not exist. Did you mean `src`?");
    assert_eq!(shown("src/zzzz"), "`src/zzzz` does not exist. There is no `zzzz` in `src`.");
    assert_eq!(shown("none/at/all"), "`none/at/all` does not exist. The directory `none` does not exist.");
    let quiet = fixture.workspace.clone().without_hints();
    assert_eq!(quiet.read("src/Main.rs", 100).unwrap_err().to_string(), "`src/Main.rs` does not exist.");
}

#[test]
fn rejects_a_too_large_file_but_reads_its_lines() {
    let fixture = Fixture::new();
    let text: String = (1..=1000).map(|line| format!("line {line}\n")).collect();
    fixture.put("long", &text);
    let error = fixture.workspace.read("long", 100).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { limit: 100, .. }), "{error:?}");
    let range = fixture.workspace.read_lines("long", 500, 2, 1000).unwrap();
    assert_eq!(
        (range.bytes.as_slice(), range.skipped, range.more),
        (b"line 501\nline 502\n".as_slice(), 500, true)
    );
    let range = fixture.workspace.read_lines("long", 998, 5, 1000).unwrap();
    assert_eq!((range.bytes.as_slice(), range.more), (b"line 999\nline 1000\n".as_slice(), false));
    let range = fixture.workspace.read_lines("long", 0, 9, 4).unwrap();
    assert_eq!((range.bytes.as_slice(), range.more), (b"line".as_slice(), true));
    let range = fixture.workspace.read_lines("long", 5000, 1, 1000).unwrap();
    assert_eq!((range.bytes.is_empty(), range.skipped), (true, 1000));
}

#[test]
fn file_with_the_identity_of_another_one_is_not_the_one_that_was_read() {
    let fixture = Fixture::new();
    let memory = FileMemory::default();
    for (path, text) in [("old", "two"), ("new", "start")] {
        fixture.put(path, text);
        memory.remember(path, fixture.known(path));
    }
    let read = fixture.known("new");
    // As if the system gave the identity of `old`, with its content, to a new version of `new`.
    fs::rename(fixture.at("old"), fixture.at("new")).unwrap();
    let now = memory.read_state("new", &fixture.workspace.stamp("new").unwrap());
    assert_eq!(now, ReadState::Touched(read));
    // A file that only has another name is known by its identity.
    fixture.put("c", "three");
    memory.remember("c", fixture.known("c"));
    fs::rename(fixture.at("c"), fixture.at("d")).unwrap();
    assert_ne!(memory.read_state("d", &fixture.workspace.stamp("d").unwrap()), ReadState::Unread);
}

#[test]
fn remembers_files_that_were_read() {
    let fixture = Fixture::new();
    fixture.put("a", "one");
    let memory = FileMemory::default();
    let standing = |path: &str| memory.read_state(path, &fixture.workspace.stamp(path).unwrap());
    assert_eq!(standing("a"), ReadState::Unread);
    let known = fixture.known("a");
    memory.remember("a", known.clone());
    assert_eq!(standing("a"), ReadState::Unchanged(known.clone()));
    fixture.put("a", "two");
    assert_eq!(standing("a"), ReadState::Touched(known.clone()));
    fs::write(fixture.at("b"), "three").unwrap();
    fs::rename(fixture.at("b"), fixture.at("a")).unwrap();
    assert_eq!(standing("a"), ReadState::Touched(known));
    memory.forget("a");
    assert_eq!(standing("a"), ReadState::Unread);
}
