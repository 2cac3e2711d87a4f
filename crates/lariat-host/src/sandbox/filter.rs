//! Builds the seccomp program: which system calls are passed to us for a decision, and which fail at once.
//!
//! A call that is passed to us waits until the [`super::judge`] answers; if this process died, it fails. Calls of
//! another architecture, and x32 calls, kill the process, because their numbers mean something else.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF,
};

use crate::sys::{Filter, Instruction};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Set in the number of an x32 call.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Flags of `clone` and `unshare` that create a namespace.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u32;

/// Which arguments a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentMatch {
    /// Any arguments.
    Always,
    /// Argument `0` has one of the bits `1` set.
    Any(u32, u32),
    /// Argument `0`, masked by `1`, equals `2`.
    Is(u32, u32, u32),
    /// Argument `0` is none of these values.
    NoneOf(u32, &'static [u32]),
}

/// What happens to a matching call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyscallAction {
    /// It is passed to us for a decision.
    Ask,
    /// It fails with this error number.
    Fail(i32),
}

struct SyscallRule {
    call: libc::c_long,
    when: ArgumentMatch,
    then: SyscallAction,
}

const fn ask(call: libc::c_long) -> SyscallRule {
    SyscallRule { call, when: ArgumentMatch::Always, then: SyscallAction::Ask }
}

const fn fail(call: libc::c_long, error: i32) -> SyscallRule {
    SyscallRule { call, when: ArgumentMatch::Always, then: SyscallAction::Fail(error) }
}

/// Calls that commands do not need and that could be used to escape, with their names.
const BLOCKED: &[(libc::c_long, &str)] = &[
    (libc::SYS_ptrace, "ptrace"),
    (libc::SYS_process_vm_readv, "process_vm_readv"),
    (libc::SYS_process_vm_writev, "process_vm_writev"),
    (libc::SYS_pidfd_getfd, "pidfd_getfd"),
    (libc::SYS_process_madvise, "process_madvise"),
    (libc::SYS_kcmp, "kcmp"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_umount2, "umount2"),
    (libc::SYS_pivot_root, "pivot_root"),
    (libc::SYS_chroot, "chroot"),
    (libc::SYS_setns, "setns"),
    (libc::SYS_open_tree, "open_tree"),
    (libc::SYS_move_mount, "move_mount"),
    (libc::SYS_fsopen, "fsopen"),
    (libc::SYS_fsconfig, "fsconfig"),
    (libc::SYS_fsmount, "fsmount"),
    (libc::SYS_fspick, "fspick"),
    (libc::SYS_mount_setattr, "mount_setattr"),
    (libc::SYS_open_by_handle_at, "open_by_handle_at"),
    (libc::SYS_name_to_handle_at, "name_to_handle_at"),
    (libc::SYS_bpf, "bpf"),
    (libc::SYS_perf_event_open, "perf_event_open"),
    (libc::SYS_userfaultfd, "userfaultfd"),
    (libc::SYS_keyctl, "keyctl"),
    (libc::SYS_add_key, "add_key"),
    (libc::SYS_request_key, "request_key"),
    (libc::SYS_init_module, "init_module"),
    (libc::SYS_finit_module, "finit_module"),
    (libc::SYS_delete_module, "delete_module"),
    (libc::SYS_kexec_load, "kexec_load"),
    (libc::SYS_kexec_file_load, "kexec_file_load"),
    (libc::SYS_reboot, "reboot"),
    (libc::SYS_swapon, "swapon"),
    (libc::SYS_swapoff, "swapoff"),
    (libc::SYS_acct, "acct"),
    (libc::SYS_quotactl, "quotactl"),
    (libc::SYS_syslog, "syslog"),
    (libc::SYS_settimeofday, "settimeofday"),
    (libc::SYS_clock_settime, "clock_settime"),
    (libc::SYS_clock_adjtime, "clock_adjtime"),
    (libc::SYS_adjtimex, "adjtimex"),
    (libc::SYS_sethostname, "sethostname"),
    (libc::SYS_setdomainname, "setdomainname"),
    (libc::SYS_vhangup, "vhangup"),
];

/// The same, for calls that are blocked only with certain arguments.
const KERNEL: &[SyscallRule] = &[
    SyscallRule {
        call: libc::SYS_unshare,
        when: ArgumentMatch::Any(0, NAMESPACES),
        then: SyscallAction::Ask,
    },
    SyscallRule { call: libc::SYS_clone, when: ArgumentMatch::Any(0, NAMESPACES), then: SyscallAction::Ask },
    // Its flags are behind a pointer, which a filter cannot read; libraries fall back to `clone`.
    fail(libc::SYS_clone3, libc::ENOSYS),
    // io_uring executes operations that no filter sees.
    fail(libc::SYS_io_uring_setup, libc::ENOSYS),
    fail(libc::SYS_io_uring_enter, libc::ENOSYS),
    fail(libc::SYS_io_uring_register, libc::ENOSYS),
    // Inserts input into a terminal as if it were typed.
    SyscallRule {
        call: libc::SYS_ioctl,
        when: ArgumentMatch::Is(1, u32::MAX, libc::TIOCSTI as u32),
        then: SyscallAction::Ask,
    },
    SyscallRule {
        call: libc::SYS_ioctl,
        when: ArgumentMatch::Is(1, u32::MAX, TIOCLINUX),
        then: SyscallAction::Ask,
    },
    // Its flags are behind a pointer, which a filter cannot read; libraries fall back to `openat`.
    fail(libc::SYS_openat2, libc::ENOSYS),
    // Sets the bits that make a program run with the permissions of the file's owner or group.
    SyscallRule { call: libc::SYS_fchmod, when: ArgumentMatch::Any(1, SET_ID), then: SyscallAction::Ask },
    SyscallRule { call: libc::SYS_fchmodat, when: ArgumentMatch::Any(2, SET_ID), then: SyscallAction::Ask },
    SyscallRule { call: libc::SYS_fchmodat2, when: ArgumentMatch::Any(2, SET_ID), then: SyscallAction::Ask },
    #[cfg(target_arch = "x86_64")]
    SyscallRule { call: libc::SYS_chmod, when: ArgumentMatch::Any(1, SET_ID), then: SyscallAction::Ask },
];

/// The mode bits that make a program run with the permissions of its file's owner or group.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

const TIOCLINUX: u32 = 0x541c;

/// Local sockets. Datagram sockets need no connection, so they cannot be checked when they are used.
const LOCAL_SOCKETS: &[SyscallRule] = &[
    ask(libc::SYS_connect),
    ask(libc::SYS_bind),
    SyscallRule {
        call: libc::SYS_socket,
        when: ArgumentMatch::Is(0, u32::MAX, libc::AF_UNIX as u32),
        then: SyscallAction::Ask,
    },
    SyscallRule {
        call: libc::SYS_socketpair,
        when: ArgumentMatch::Is(1, 0xf, libc::SOCK_DGRAM as u32),
        then: SyscallAction::Ask,
    },
    // The kernel treats a raw socket of this family as a datagram socket.
    SyscallRule {
        call: libc::SYS_socketpair,
        when: ArgumentMatch::Is(1, 0xf, libc::SOCK_RAW as u32),
        then: SyscallAction::Ask,
    },
];

/// The only socket families that commands need. Raw packets, virtual machines and rarer ones are not included.
const FAMILIES: &[u32] =
    &[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32];

/// Calls that change paths: denials by the kernel are explained, and files may be created on behalf of the command.
const WATCHED: &[SyscallRule] = &[
    ask(libc::SYS_connect),
    SyscallRule { call: libc::SYS_openat, when: ArgumentMatch::Any(2, WRITES), then: SyscallAction::Ask },
    ask(libc::SYS_mkdirat),
    ask(libc::SYS_renameat2),
    ask(libc::SYS_unlinkat),
    ask(libc::SYS_mknodat),
    ask(libc::SYS_symlinkat),
    ask(libc::SYS_linkat),
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_renameat),
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_creat),
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_mknod),
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_symlink),
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_link),
    #[cfg(target_arch = "x86_64")]
    SyscallRule { call: libc::SYS_open, when: ArgumentMatch::Any(1, WRITES), then: SyscallAction::Ask },
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_mkdir),
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_rename),
    #[cfg(target_arch = "x86_64")]
    ask(libc::SYS_unlink),
];

const WRITES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;

/// Which groups of calls a filter contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilterParts {
    /// Block local sockets.
    pub(super) local_sockets: bool,
    /// Report program starts, because a wrapper sets up the sandbox before the command.
    pub(super) starts: bool,
    /// Report calls that change paths, to explain what the kernel denies.
    pub(super) watched: bool,
}

/// The name of a blocked call.
pub(super) fn name(call: libc::c_long) -> &'static str {
    let others = [
        (libc::SYS_unshare, "unshare"),
        (libc::SYS_clone, "clone with a new namespace"),
        (libc::SYS_ioctl, "ioctl that types into a terminal"),
        (libc::SYS_fchmod, "chmod that sets the set-user-id bit"),
        (libc::SYS_fchmodat, "chmod that sets the set-user-id bit"),
        (libc::SYS_fchmodat2, "chmod that sets the set-user-id bit"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, "chmod that sets the set-user-id bit"),
        (libc::SYS_socket, "socket"),
        (libc::SYS_socketpair, "socketpair"),
    ];
    BLOCKED.iter().chain(&others).find(|(known, _)| *known == call).map_or("a system call", |(_, name)| name)
}

/// Whether a call opens a file and has flags.
pub(super) fn has_open_flags(call: libc::c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    if call == libc::SYS_open {
        return true;
    }
    call == libc::SYS_openat
}

/// Builds the seccomp program for these groups.
pub(super) fn program(parts: FilterParts) -> Filter {
    let rare = [SyscallRule {
        call: libc::SYS_socket,
        when: ArgumentMatch::NoneOf(0, FAMILIES),
        then: SyscallAction::Ask,
    }];
    let starts = [ask(libc::SYS_execve), ask(libc::SYS_execveat)];
    let refused: Vec<SyscallRule> = BLOCKED.iter().map(|(call, _)| ask(*call)).collect();
    let lines = refused
        .iter()
        .chain(KERNEL)
        .chain(&rare)
        .chain(LOCAL_SOCKETS.iter().filter(|_| parts.local_sockets))
        .chain(starts.iter().filter(|_| parts.starts))
        .chain(WATCHED.iter().filter(|_| parts.watched));
    let mut program =
        vec![load(ARCH), jump(BPF_JEQ, ARCHITECTURE, 1, 0), ret(SECCOMP_RET_KILL_PROCESS), load(NUMBER)];
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(BPF_JGE, X32, 0, 1), ret(SECCOMP_RET_KILL_PROCESS)]);
    for line in lines {
        let action = match line.then {
            SyscallAction::Ask => SECCOMP_RET_USER_NOTIF,
            SyscallAction::Fail(error) => SECCOMP_RET_ERRNO | error as u32,
        };
        let check = match line.when {
            ArgumentMatch::Always => vec![],
            ArgumentMatch::Any(argument, bits) => {
                vec![load(ARGUMENTS + 8 * argument), jump(BPF_JSET, bits, 0, 1)]
            }
            ArgumentMatch::Is(argument, u32::MAX, value) => {
                vec![load(ARGUMENTS + 8 * argument), jump(BPF_JEQ, value, 0, 1)]
            }
            ArgumentMatch::Is(argument, mask, value) => vec![
                load(ARGUMENTS + 8 * argument),
                instruction(BPF_ALU | BPF_AND | BPF_K, mask, 0, 0),
                jump(BPF_JEQ, value, 0, 1),
            ],
            ArgumentMatch::NoneOf(argument, values) => {
                // A match jumps over the remaining values and the action.
                let rest = (1..=values.len() as u8).rev();
                let found = values.iter().zip(rest).map(|(value, past)| jump(BPF_JEQ, *value, past, 0));
                std::iter::once(load(ARGUMENTS + 8 * argument)).chain(found).collect()
            }
        };
        // If this is another call, jump over the check, the action, and the reload of the number for the next rule.
        let past = check.len() as u8 + 1 + u8::from(!check.is_empty());
        program.push(jump(BPF_JEQ, line.call as u32, 0, past));
        let reload = !check.is_empty();
        program.extend(check);
        program.push(ret(action));
        if reload {
            program.push(load(NUMBER));
        }
    }
    program.push(ret(SECCOMP_RET_ALLOW));
    program
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: code as u16, jt, jf, k }
}

fn load(offset: u32) -> Instruction {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0)
}

fn jump(condition: u32, value: u32, yes: u8, no: u8) -> Instruction {
    instruction(BPF_JMP | condition | BPF_K, value, yes, no)
}

fn ret(action: u32) -> Instruction {
    instruction(BPF_RET | BPF_K, action, 0, 0)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
