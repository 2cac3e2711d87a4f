//! Reads what `strace` recorded of one run of the program: what it started and where it connected.
//!
//! Invariant: an attempt is treated like success, and nothing is left out by a part of its name. The program's own launch
//! helper is recognised exactly: `/proc/self/exe` with the one argument that makes the program serve as its helper.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The only argument of the launch helper (`crates/lariat-host/src/process/launch_helper.rs`).
const HELPER: &str = r#"["lariat-launch"]"#;
/// Where the programs of the machine are. Nothing of a repository is beneath them.
const SYSTEM: [&str; 4] = ["/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/lib/git-core/"];

/// What the check of the sandbox starts in a directory of its own, and the beginning of its arguments: bubblewrap, and
/// the programs that it must stop (`crates/lariat-host/src/sandbox_probe.rs`).
const SANDBOX_CHECK: [(&str, &str); 3] = [
    ("bwrap", r#"["/usr/bin/bwrap", "--unshare-user", "#),
    ("rm", r#"["rm", "inside"],"#),
    ("mkdir", r#"["mkdir", ".lariat/x"],"#),
];

/// What a run may do.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    /// `lariat` itself.
    pub(crate) program: PathBuf,
    /// The scripted model.
    pub(crate) model: SocketAddr,
    /// Names of programs of the machine.
    pub(crate) programs: &'static [&'static str],
}

/// What a run did.
#[derive(Debug, Default)]
pub(crate) struct RunTrace {
    /// Programs that were started, besides `lariat`.
    pub(crate) started: usize,
    /// Launch helpers.
    pub(crate) helpers: usize,
    /// Connections to the model.
    pub(crate) requests: usize,
    pub(crate) forbidden: Vec<String>,
}

/// Parses the trace of one run.
pub(crate) fn read(text: &str, allowed: &Allowed) -> RunTrace {
    let mut trace = RunTrace::default();
    let mut is_first = true;
    for line in text.lines() {
        let Some((_, call)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        match name {
            "execve" | "execveat" if is_first && is_own(arguments, &allowed.program) => is_first = false,
            "execve" | "execveat" if is_helper(name, arguments) => trace.helpers += 1,
            "execve" | "execveat" => {
                trace.started += 1;
                if !is_of_the_machine(name, arguments, allowed.programs) {
                    trace.forbidden.push(format!("started {}", shortened(arguments)));
                }
            }
            "connect" if is_to(arguments, allowed.model) => trace.requests += 1,
            // A local name service may be queried for the owner of a file.
            "connect" if arguments.contains(r#"sun_path="/var/run/nscd/socket""#) => {}
            "connect" => trace.forbidden.push(format!("connected: {}", shortened(arguments))),
            _ => {}
        }
    }
    trace
}

fn path(arguments: &str) -> &str {
    arguments.strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default()
}

/// The first start: strace itself starts the program.
fn is_own(arguments: &str, program: &Path) -> bool {
    Path::new(path(arguments)) == program
}

fn is_helper(name: &str, arguments: &str) -> bool {
    name == "execve"
        && path(arguments) == "/proc/self/exe"
        && arguments.split_once("\", ").is_some_and(|(_, rest)| rest.starts_with(&format!("{HELPER},")))
}

fn is_of_the_machine(name: &str, arguments: &str, programs: &[&str]) -> bool {
    let path = path(arguments);
    let Some(file) = SYSTEM.iter().find_map(|folder| path.strip_prefix(folder)) else { return false };
    let given = arguments.split_once("\", ").map(|(_, given)| given).unwrap_or_default();
    let is_of_the_check =
        SANDBOX_CHECK.iter().any(|(known, start)| *known == file && given.starts_with(start));
    name == "execve" && (programs.contains(&file) || is_of_the_check)
}

fn is_to(arguments: &str, address: SocketAddr) -> bool {
    let SocketAddr::V4(address) = address else { return false };
    let place: &Ipv4Addr = address.ip();
    let peer = format!("sin_port=htons({}), sin_addr=inet_addr(\"{place}\")", address.port());
    arguments.contains("sa_family=AF_INET,") && arguments.contains(&peer)
}

fn shortened(arguments: &str) -> String {
    arguments.chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_lines(lines: &str) -> RunTrace {
        let allowed = Allowed {
            program: "/x/lariat".into(),
            model: "127.0.0.1:4000".parse().unwrap(),
            programs: &["git", "bash"],
        };
        read(lines, &allowed)
    }

    #[test]
    fn only_the_exact_launch_helper_is_the_programs_own() {
        let trace = read_lines(
            r#"7 execve("/x/lariat", ["/x/lariat", "run"], 0x7f /* 9 vars */) = 0
8 execve("/proc/self/exe", ["lariat-launch"], 0x7f /* 9 vars */) = 0
9 execve("/proc/self/exe", ["lariat-launch", "x"], 0x7f /* 9 vars */) = 0
9 execve("/x/repositories/3/lariat-launch", ["lariat-launch"], 0x7f /* 9 vars */) = 0
9 execve("/x/lariat", ["/x/lariat", "host"], 0x7f /* 9 vars */) = 0
9 execveat(3, "", ["lariat-launch"], 0x7f /* 9 vars */, AT_EMPTY_PATH) = 0
"#,
        );
        assert_eq!((trace.helpers, trace.started, trace.forbidden.len()), (1, 4, 4), "{trace:?}");
    }

    #[test]
    fn programs_of_the_machine_are_recognised_by_their_whole_path() {
        let trace = read_lines(
            r#"8 execve("/usr/bin/git", ["git", "status"], 0x7f /* 9 vars */ <unfinished ...>
9 execve("/usr/bin/bash", ["bash"], 0x7f /* 9 vars */) = -1 ENOENT (No such file or directory)
9 execve("/usr/bin/curl", ["curl"], 0x7f /* 9 vars */) = 0
9 execve("/x/repositories/3/git", ["git"], 0x7f /* 9 vars */) = 0
9 execve("/usr/bin/rm", ["rm", "inside"], 0x7f /* 9 vars */) = 0
9 execve("/usr/bin/rm", ["rm", "inside", "a.txt"], 0x7f /* 9 vars */) = 0
9 execve("git", ["git"], 0x7f /* 9 vars */) = 0
9 execve("/usr/bin/../../x/bash", ["bash"], 0x7f /* 9 vars */) = 0
"#,
        );
        assert_eq!((trace.started, trace.forbidden.len()), (8, 5), "{trace:?}");
    }

    #[test]
    fn only_the_model_may_be_connected_to() {
        let trace = read_lines(
            r#"8 connect(9, {sa_family=AF_INET, sin_port=htons(4000), sin_addr=inet_addr("127.0.0.1")}, 16) = -1 EINPROGRESS
8 connect(9, {sa_family=AF_INET, sin_port=htons(4000), sin_addr=inet_addr("127.0.0.2")}, 16) = 0
8 connect(9, {sa_family=AF_INET, sin_port=htons(40001), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
8 connect(9, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT
8 connect(9, {sa_family=AF_UNIX, sun_path="/tmp/nscd"}, 110) = 0
"#,
        );
        assert_eq!((trace.requests, trace.forbidden.len()), (1, 3), "{trace:?}");
    }
}
