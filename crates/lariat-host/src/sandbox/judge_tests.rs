use super::*;

fn call(number: libc::c_long, arguments: [u64; 6]) -> Notification {
    Notification::test(std::process::id(), number, arguments)
}

fn judge(starts: u32) -> SyscallJudge {
    SyscallJudge::new(Arc::new(Policy::workspace(Path::new("/w"), None)), starts)
}

#[test]
fn blocked_call_is_denied_by_name() {
    let (answer, denial) = judge(0).judge(&call(libc::SYS_ptrace, [0; 6]));
    assert_eq!(answer, SyscallAnswer::Refuse(libc::EPERM));
    assert_eq!(denial, Some(Denial::new("ptrace", Rule::KernelCall)));
}

#[test]
fn wrapper_may_make_calls_that_its_command_may_not() {
    let judge = judge(2);
    let mount = call(libc::SYS_mount, [0; 6]);
    let start = call(libc::SYS_execve, [0; 6]);
    assert_eq!(judge.judge(&start).0, SyscallAnswer::Continue);
    assert_eq!(judge.judge(&mount).0, SyscallAnswer::Continue);
    assert_eq!(judge.judge(&start).0, SyscallAnswer::Continue);
    assert_eq!(judge.judge(&mount).0, SyscallAnswer::Refuse(libc::EPERM));
    assert_eq!(judge.judge(&start).0, SyscallAnswer::Continue);
    assert_eq!(judge.judge(&mount).0, SyscallAnswer::Refuse(libc::EPERM));
}

#[test]
fn explains_a_write_outside_and_leaves_it_to_the_kernel() {
    let explain = |path: &'static std::ffi::CStr| {
        let arguments = [libc::AT_FDCWD as u64, path.as_ptr() as u64, libc::O_WRONLY as u64, 0, 0, 0];
        judge(0).judge(&call(libc::SYS_openat, arguments))
    };
    let (answer, denial) = explain(c"/w/../etc/./passwd");
    assert_eq!(answer, SyscallAnswer::Continue);
    let what = "writing /etc/passwd".to_owned();
    assert_eq!(denial, Some(Denial { what, rule: Rule::NotWritable, path: Some("/etc/passwd".into()) }));
    assert_eq!(explain(c"/w/a").1, None);
    assert_eq!(explain(c"/w/.git/config").1.unwrap().rule, Rule::Protected("/w/.git".into()));
}

#[test]
fn explains_an_outgoing_connection() {
    let explain = |first: u8| {
        let mut address = [0_u8; 16];
        address[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        address[2..8].copy_from_slice(&[1, 187, first, 2, 3, 4]);
        judge(0).judge(&call(libc::SYS_connect, [3, address.as_ptr() as u64, 16, 0, 0, 0]))
    };
    let (answer, denial) = explain(1);
    assert_eq!(answer, SyscallAnswer::Continue);
    assert_eq!(denial, Some(Denial::new("connecting to 1.2.3.4:443", Rule::NetworkOff)));
    assert_eq!(explain(127).1, None);
}

#[test]
fn local_stream_socket_is_disconnected_and_denied_by_path() {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    let socket =
        |kind: i32| judge(0).judge(&call(libc::SYS_socket, [libc::AF_UNIX as u64, kind as u64, 0, 0, 0, 0]));
    assert_eq!(socket(kind), (SyscallAnswer::DeadSocket { close_on_exec: true, nonblocking: false }, None));
    assert_eq!(socket(libc::SOCK_DGRAM).0, SyscallAnswer::Refuse(libc::EPERM));
    assert_eq!(socket(libc::SOCK_SEQPACKET).0, SyscallAnswer::Refuse(libc::EPERM));

    let local = |number: libc::c_long, path: &[u8]| {
        let address = [&(libc::AF_UNIX as u16).to_ne_bytes(), path].concat();
        judge(0).judge(&call(number, [3, address.as_ptr() as u64, address.len() as u64, 0, 0, 0]))
    };
    for (number, path, what) in [
        (libc::SYS_connect, &b"/run/docker.sock\0"[..], "connecting to the local socket /run/docker.sock"),
        (libc::SYS_connect, &b"\0bus"[..], "connecting to the local socket @bus"),
        (libc::SYS_bind, &b"/w/s"[..], "creating the local socket /w/s"),
    ] {
        let (answer, denial) = local(number, path);
        assert_eq!(answer, SyscallAnswer::Refuse(libc::EPERM));
        assert_eq!(denial, Some(Denial::new(what, Rule::LocalSockets)));
    }
    assert_eq!(
        local(libc::SYS_connect, b"/var/run/nscd/socket\0"),
        (SyscallAnswer::Refuse(libc::EPERM), None)
    );
}
