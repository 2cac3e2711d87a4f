use super::*;

#[test]
fn recognises_equivalent_names_of_file_systems() {
    for name in [".git", ".GIT", ".Git ", ".git..", ".g\u{200c}it", "git~1"] {
        assert!(is_name(b".git", name.as_bytes()), "{name:?}");
    }
    for name in [".gitignore", "git", ".gi", "", ".", ".."] {
        assert!(!is_name(b".git", name.as_bytes()), "{name:?}");
    }
}

#[test]
fn creates_requested_names_except_guarded_ones() {
    let place = std::env::temp_dir().join(format!("lariat-create-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir(&place).unwrap();
    let folder = rustix::fs::open(&place, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    let state = rustix::fs::fstat(&folder).unwrap();
    let guarded =
        [GuardedDirectory { device: state.st_dev, inode: state.st_ino, names: vec![b".git".to_vec()] }];
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let creation_socket = std::thread::spawn(move || {
        while {
            let mut polled = [rustix::event::PollFd::new(&theirs, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut polled, None).unwrap();
            serve(theirs.as_fd(), &guarded)
        } {}
    });
    let ask = |kind: CreationKind, flags: OFlags, old: &CStr, new: &CStr| {
        let request =
            CreateRequest { kind, flags: flags.bits(), mode: 0o6755, old: (c".", old), new: (c".", new) };
        ask(ours.as_fd(), &request, &[folder.as_fd(), folder.as_fd()]).unwrap()
    };
    assert!(matches!(ask(CreationKind::Directory, OFlags::empty(), c"", c"sub"), CreationResult::Done));
    assert!(matches!(
        ask(CreationKind::Directory, OFlags::empty(), c"", c".Git"),
        CreationResult::Failed(libc::EROFS)
    ));
    assert!(matches!(ask(CreationKind::Open, OFlags::WRONLY, c"", c"file"), CreationResult::Opened(_)));
    assert!(matches!(ask(CreationKind::Open, OFlags::WRONLY, c"", c"file"), CreationResult::Kernel));
    assert!(matches!(
        ask(CreationKind::Open, OFlags::WRONLY | OFlags::EXCL, c"", c"file"),
        CreationResult::Failed(libc::EEXIST)
    ));
    for kind in [
        CreationKind::Open,
        CreationKind::Node,
        CreationKind::Symlink,
        CreationKind::Link,
        CreationKind::Rename,
    ] {
        assert!(
            matches!(ask(kind, OFlags::WRONLY, c"file", c".git"), CreationResult::Failed(libc::EROFS)),
            "{kind:?}"
        );
    }
    assert!(matches!(ask(CreationKind::Rename, OFlags::empty(), c"file", c"other"), CreationResult::Done));
    drop(ours);
    creation_socket.join().unwrap();
    assert!(place.join("sub").is_dir() && place.join("other").is_file());
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(place.join("sub").metadata().unwrap().permissions().mode() & 0o6000, 0);
    assert!(!place.join(".git").exists());
    std::fs::remove_dir_all(&place).unwrap();
}
