use super::*;

#[test]
fn a_file_is_reached_by_every_spelling_of_its_path() {
    let ground = Ground::new();
    ground.put("a/b.txt", "here");
    fs::create_dir_all(ground.at("c")).unwrap();
    symlink(ground.at("a"), ground.at("absolute")).unwrap();
    symlink("../a", ground.at("c/relative")).unwrap();
    symlink(ground.at("absolute/b.txt"), ground.at("chain")).unwrap();
    symlink("../ws/a", ground.at("around")).unwrap();
    let absolute = ground.at("a/b.txt").display().to_string();
    let dotted = ground.base.join("out/../ws/a/b.txt").display().to_string();
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
        assert_eq!(ground.read(path).as_deref(), Ok("here"), "{path}");
    }
}

#[test]
fn nothing_outside_is_reached() {
    let ground = Ground::new();
    ground.put("a/b.txt", "here");
    symlink(ground.base.join("out"), ground.at("absolute")).unwrap();
    symlink("../out", ground.at("relative")).unwrap();
    symlink("../out/canary", ground.at("file")).unwrap();
    symlink("file", ground.at("chain")).unwrap();
    symlink("/proc/self/root", ground.at("magic")).unwrap();
    let sibling = ground.base.join("ws-evil");
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
        let error = ground.read(path).unwrap_err();
        assert!(matches!(error, FileError::Outside { .. }), "{path}: {error:?}");
        let error = ground.workspace.write(path, b"changed", &Expected::Any).unwrap_err();
        assert!(matches!(error, FileError::Outside { .. }), "{path}: {error:?}");
    }
    assert_eq!(fs::read_to_string(ground.base.join("out/canary")).unwrap(), "outside");
}

#[test]
fn links_of_the_kernel_are_never_followed() {
    let ground = Ground::new();
    let workspace = ground.workspace.clone().with_root("/proc", Access::ReadOnly).unwrap();
    let workspace = workspace.with_root("/", Access::ReadOnly).unwrap();
    let root = format!("/proc/self/root{}", ground.base.join("out/canary").display());
    for path in
        [root.as_str(), "/proc/self/cwd/Cargo.toml", "/proc/thread-self/root/etc/passwd", "/proc/self/exe"]
    {
        let error = workspace.read(path, 1 << 30).unwrap_err();
        assert!(matches!(error, FileError::Links(_)), "{path}: {error:?}");
    }
    assert!(workspace.read("/proc/self/status", 1 << 20).is_ok());
}

#[test]
fn a_link_to_another_root_is_followed() {
    let ground = Ground::new();
    symlink(ground.base.join("out"), ground.at("more")).unwrap();
    let workspace = ground.workspace.clone().with_root(ground.base.join("out"), Access::ReadOnly).unwrap();
    assert_eq!(workspace.read("more/canary", 100).unwrap().bytes, b"outside");
    let error = workspace.write("more/canary", b"x", &Expected::Any).unwrap_err();
    assert_eq!(error, FileError::ReadOnly("more/canary".into()));
    let error = workspace.write("more/new/file", b"x", &Expected::Absent).unwrap_err();
    assert_eq!(error, FileError::ReadOnly("more/new/file".into()));
    assert!(!ground.base.join("out/new").exists());
}

#[test]
fn a_read_only_root_inside_of_a_writable_one_stays_read_only() {
    let ground = Ground::new();
    ground.put("vendor/deep/a", "kept");
    let workspace = ground.workspace.clone().with_root(ground.at("vendor"), Access::ReadOnly).unwrap();
    for path in ["vendor/deep/a", "vendor/new"] {
        let error = workspace.write(path, b"x", &Expected::Any).unwrap_err();
        assert_eq!(error, FileError::ReadOnly(path.into()));
    }
    assert!(workspace.write("free/a", b"x", &Expected::Absent).is_ok());
}

#[test]
fn what_is_not_a_file_is_named() {
    let ground = Ground::new();
    fs::create_dir_all(ground.at("folder")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        ground.at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(ground.at("socket")).unwrap();
    symlink("circle", ground.at("circle")).unwrap();
    ground.put("file", "x");
    let shown = |path: &str| ground.read(path).unwrap_err().to_string();
    assert_eq!(shown("folder"), "`folder` is a directory, not a file. List it instead.");
    assert_eq!(shown("pipe"), "`pipe` is a named pipe. Only regular files are read and written.");
    assert_eq!(shown("socket"), "`socket` is a socket. Only regular files are read and written.");
    assert!(matches!(ground.read("circle"), Err(FileError::Links(_))));
    assert!(matches!(ground.read("file/x"), Err(FileError::NotADirectory(_))));
    for path in ["pipe", "socket", "folder", "circle", "file/x", "folder/", ".", ".."] {
        assert!(ground.workspace.write(path, b"x", &Expected::Any).is_err(), "{path}");
    }
}

#[test]
fn texts_that_are_no_paths_are_refused() {
    let ground = Ground::new();
    for path in ["", "a\0b", "~", "~/x", &"n".repeat(300), &"d/".repeat(3000)] {
        let error = ground.read(path).unwrap_err();
        assert!(matches!(error, FileError::Malformed { .. }), "{path:?}: {error:?}");
        assert!(error.to_string().len() < 250);
    }
}

#[test]
fn a_missing_file_leads_to_the_nearest_name() {
    let ground = Ground::new();
    ground.put("src/main.rs", "");
    let shown = |path: &str| ground.read(path).unwrap_err().to_string();
    assert_eq!(shown("src/Main.rs"), "`src/Main.rs` does not exist. Did you mean `src/main.rs`?");
    assert_eq!(shown("sr/main.rs"), "`sr/main.rs` does not exist. Did you mean `src`?");
    assert_eq!(shown("src/zzzz"), "`src/zzzz` does not exist. There is no `zzzz` in `src`.");
    assert_eq!(shown("none/at/all"), "`none/at/all` does not exist. The directory `none` does not exist.");
    let quiet = ground.workspace.clone().without_hints();
    assert_eq!(quiet.read("src/Main.rs", 100).unwrap_err().to_string(), "`src/Main.rs` does not exist.");
}

#[test]
fn a_file_that_is_too_large_says_so_and_its_lines_can_be_read() {
    let ground = Ground::new();
    let text: String = (1..=1000).map(|line| format!("line {line}\n")).collect();
    ground.put("long", &text);
    let error = ground.workspace.read("long", 100).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { limit: 100, .. }), "{error:?}");
    let range = ground.workspace.read_lines("long", 500, 2, 1000).unwrap();
    assert_eq!(
        (range.bytes.as_slice(), range.skipped, range.more),
        (b"line 501\nline 502\n".as_slice(), 500, true)
    );
    let range = ground.workspace.read_lines("long", 998, 5, 1000).unwrap();
    assert_eq!((range.bytes.as_slice(), range.more), (b"line 999\nline 1000\n".as_slice(), false));
    let range = ground.workspace.read_lines("long", 0, 9, 4).unwrap();
    assert_eq!((range.bytes.as_slice(), range.more), (b"line".as_slice(), true));
    let range = ground.workspace.read_lines("long", 5000, 1, 1000).unwrap();
    assert_eq!((range.bytes.is_empty(), range.skipped), (true, 1000));
}

#[test]
fn what_was_read_is_known_again() {
    let ground = Ground::new();
    ground.put("a", "one");
    let memory = FileMemory::default();
    let standing = |path: &str| memory.standing(path, &ground.workspace.stamp(path).unwrap());
    assert_eq!(standing("a"), Standing::Unread);
    let known = ground.known("a");
    memory.remember("a", known.clone());
    assert_eq!(standing("a"), Standing::Unchanged(known.clone()));
    ground.put("a", "two");
    assert_eq!(standing("a"), Standing::Touched(known.clone()));
    fs::write(ground.at("b"), "three").unwrap();
    fs::rename(ground.at("b"), ground.at("a")).unwrap();
    assert_eq!(standing("a"), Standing::Touched(known));
    memory.forget("a");
    assert_eq!(standing("a"), Standing::Unread);
}
