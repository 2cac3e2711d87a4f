use super::*;

/// Evaluates a program for a call as the kernel does.
fn verdict(program: &[Instruction], number: u32, arch: u32, arguments: [u64; 6]) -> u32 {
    let mut data = [0_u32; 16];
    (data[0], data[1]) = (number, arch);
    for (index, argument) in arguments.iter().enumerate() {
        data[4 + 2 * index] = *argument as u32;
        data[5 + 2 * index] = (*argument >> 32) as u32;
    }
    let (mut at, mut a) = (0, 0_u32);
    loop {
        let step = program[at];
        at += 1;
        let k = step.k;
        let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
        match u32::from(step.code) {
            code if code == BPF_LD | BPF_W | BPF_ABS => a = data[k as usize / 4],
            code if code == BPF_ALU | BPF_AND | BPF_K => a &= k,
            code if code == BPF_JMP | BPF_JEQ | BPF_K => at += jump(a == k),
            code if code == BPF_JMP | BPF_JGE | BPF_K => at += jump(a >= k),
            code if code == BPF_JMP | BPF_JSET | BPF_K => at += jump(a & k != 0),
            code if code == BPF_RET | BPF_K => return k,
            code => panic!("code {code}"),
        }
    }
}

fn all() -> Filter {
    program(FilterParts { local_sockets: true, starts: true, watched: true })
}

fn says(call: libc::c_long, arguments: [u64; 6]) -> u32 {
    verdict(&all(), call as u32, ARCHITECTURE, arguments)
}

#[test]
fn allows_ordinary_calls() {
    for call in [libc::SYS_read, libc::SYS_write, libc::SYS_mmap, libc::SYS_futex, libc::SYS_getdents64] {
        assert_eq!(says(call, [u64::MAX; 6]), SECCOMP_RET_ALLOW, "{call}");
    }
}

#[test]
fn reports_every_blocked_call_for_any_arguments() {
    for (call, name) in BLOCKED {
        for arguments in [[0; 6], [u64::MAX; 6]] {
            assert_eq!(says(*call, arguments), SECCOMP_RET_USER_NOTIF, "{name}");
        }
    }
}

#[test]
fn checks_arguments_of_calls() {
    let first = |value: i32| [value as u64, 0, 0, 0, 0, 0];
    assert_eq!(says(libc::SYS_clone, first(libc::SIGCHLD)), SECCOMP_RET_ALLOW);
    assert_eq!(says(libc::SYS_clone, first(libc::CLONE_NEWUSER | libc::SIGCHLD)), SECCOMP_RET_USER_NOTIF);
    assert_eq!(says(libc::SYS_unshare, first(libc::CLONE_NEWNET)), SECCOMP_RET_USER_NOTIF);
    assert_eq!(says(libc::SYS_unshare, first(libc::CLONE_FILES)), SECCOMP_RET_ALLOW);
    assert_eq!(says(libc::SYS_socket, first(libc::AF_INET)), SECCOMP_RET_ALLOW);
    assert_eq!(says(libc::SYS_socket, first(libc::AF_UNIX)), SECCOMP_RET_USER_NOTIF);
    assert_eq!(says(libc::SYS_socket, first(libc::AF_VSOCK)), SECCOMP_RET_USER_NOTIF);
    for family in [libc::AF_PACKET, libc::AF_ALG, libc::AF_TIPC, 3, 42, 99, -1] {
        assert_eq!(says(libc::SYS_socket, first(family)), SECCOMP_RET_USER_NOTIF, "{family}");
    }
    for family in [libc::AF_INET6, libc::AF_NETLINK] {
        assert_eq!(says(libc::SYS_socket, first(family)), SECCOMP_RET_ALLOW, "{family}");
    }
    let pair = |kind: i32| [libc::AF_UNIX as u64, kind as u64, 0, 0, 0, 0];
    assert_eq!(says(libc::SYS_socketpair, pair(libc::SOCK_STREAM | libc::SOCK_CLOEXEC)), SECCOMP_RET_ALLOW);
    assert_eq!(
        says(libc::SYS_socketpair, pair(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC)),
        SECCOMP_RET_USER_NOTIF
    );
    assert_eq!(
        says(libc::SYS_socketpair, pair(libc::SOCK_RAW | libc::SOCK_NONBLOCK)),
        SECCOMP_RET_USER_NOTIF
    );
    assert_eq!(says(libc::SYS_ioctl, [0, libc::TIOCSTI, 0, 0, 0, 0]), SECCOMP_RET_USER_NOTIF);
    assert_eq!(says(libc::SYS_ioctl, [0, libc::TIOCGWINSZ, 0, 0, 0, 0]), SECCOMP_RET_ALLOW);
    let open = |flags: i32| [0, 0, flags as u64, 0, 0, 0];
    assert_eq!(says(libc::SYS_openat, open(libc::O_RDONLY | libc::O_CLOEXEC)), SECCOMP_RET_ALLOW);
    assert_eq!(says(libc::SYS_openat, open(libc::O_WRONLY)), SECCOMP_RET_USER_NOTIF);
    // The kernel uses only 32 bits of these arguments; the upper bits must not hide anything.
    assert_eq!(
        says(libc::SYS_socket, [(1 << 32) | libc::AF_UNIX as u64, 0, 0, 0, 0, 0]),
        SECCOMP_RET_USER_NOTIF
    );
    assert_eq!(says(libc::SYS_ioctl, [0, (7 << 32) | libc::TIOCSTI, 0, 0, 0, 0]), SECCOMP_RET_USER_NOTIF);
}

#[test]
fn calls_that_no_filter_can_check_fail_as_missing() {
    for call in [libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter] {
        assert_eq!(says(call, [0; 6]), SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
    }
}

#[test]
fn kills_the_process_for_another_architecture() {
    let read = libc::SYS_read as u32;
    assert_eq!(verdict(&all(), read, 0x4000_0003, [0; 6]), SECCOMP_RET_KILL_PROCESS);
    #[cfg(target_arch = "x86_64")]
    assert_eq!(verdict(&all(), X32 | read, ARCHITECTURE, [0; 6]), SECCOMP_RET_KILL_PROCESS);
}

#[test]
fn disabled_parts_are_not_in_the_filter() {
    let program = program(FilterParts { local_sockets: false, starts: false, watched: false });
    let unix = [libc::AF_UNIX as u64, 0, 0, 0, 0, 0];
    assert_eq!(verdict(&program, libc::SYS_socket as u32, ARCHITECTURE, unix), SECCOMP_RET_ALLOW);
    assert_eq!(verdict(&program, libc::SYS_execve as u32, ARCHITECTURE, [0; 6]), SECCOMP_RET_ALLOW);
    assert_eq!(verdict(&program, libc::SYS_connect as u32, ARCHITECTURE, [0; 6]), SECCOMP_RET_ALLOW);
    assert_eq!(verdict(&program, libc::SYS_ptrace as u32, ARCHITECTURE, [0; 6]), SECCOMP_RET_USER_NOTIF);
}
