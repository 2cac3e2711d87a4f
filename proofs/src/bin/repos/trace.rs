//! Parses the output of `strace`: which programs were started and which connections were attempted, for each
//! repository.
//!
//! Also defines which programs may start at which stage. Invariant: an attempt is treated like success.

use std::path::Path;

/// A path that does not exist; changing to it marks the start of a stage in the trace. Followed by a number
/// and a stage.
pub(crate) const MARK: &str = "/mark/";

/// The stages, and the programs that may start in each.
pub(crate) const STAGES: &[(&str, &[&str])] =
    &[("open", &[]), ("host", &["git"]), ("agent", &["bash", "ls", "cat"])];

/// A forbidden action.
#[derive(Debug)]
pub(crate) struct ForbiddenAction {
    /// Number of the repository.
    pub(crate) number: usize,
    pub(crate) what: String,
}

/// Contents of a trace.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) forbidden: Vec<ForbiddenAction>,
    /// Total number of programs started.
    pub(crate) started: usize,
    /// Whether the trace is complete.
    pub(crate) is_whole: bool,
}

/// Parses a trace. No program below `repositories` may start.
pub(crate) fn read(text: &str, repositories: &Path) -> Trace {
    let mut trace = Trace::default();
    let mut now: Option<(usize, &[&str])> = None;
    for line in text.lines() {
        let Some((_, call)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        let path = arguments.split('"').nth(1).unwrap_or_default();
        if name == "chdir" {
            match path.strip_prefix(MARK).and_then(|mark| mark.split_once('/')) {
                Some(("end", _)) => {
                    trace.is_whole = true;
                    now = None;
                }
                Some((number, stage)) => {
                    let allowed =
                        STAGES.iter().find(|(name, _)| *name == stage).map(|(_, programs)| *programs);
                    now = number.parse().ok().zip(allowed);
                }
                None => {}
            }
            continue;
        }
        let Some((number, allowed)) = now else { continue };
        let what = match name {
            "execve" | "execveat" => {
                trace.started += 1;
                let program = path.rsplit('/').next().unwrap_or(path);
                let is_theirs = Path::new(path).starts_with(repositories) || !path.starts_with('/');
                (is_theirs || !allowed.contains(&program)).then(|| format!("started {path}"))
            }
            // A local name service may be queried for the owner of a file.
            "connect" if arguments.contains("AF_UNIX") => {
                (!arguments.contains("nscd")).then(|| format!("connected: {arguments}"))
            }
            "connect" => Some(format!("connected: {arguments}")),
            "socket" if arguments.starts_with("AF_INET") => Some(format!("opened a socket: {arguments}")),
            _ => None,
        };
        trace.forbidden.extend(what.map(|what| ForbiddenAction { number, what }));
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"7 execve("/x/repos", ["repos"], 0x7f /* 9 vars */) = 0
7 chdir("/mark/0/open") = -1 ENOENT (No such file or directory)
7 chdir("/mark/0/agent") = -1 ENOENT (No such file or directory)
8 execve("/usr/bin/bash", ["bash", "-c", "ls"], 0x7f /* 3 vars */) = 0
9 execve("/base/repositories/0/project/ls", ["ls"], 0x7f <unfinished ...>
7 chdir("/mark/1/open") = -1 ENOENT (No such file or directory)
8 execve("/usr/bin/bash", ["bash", "-c", "ls"], 0x7f /* 3 vars */) = 0
8 socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3
7 chdir("/mark/end/") = -1 ENOENT (No such file or directory)
"#;

    #[test]
    fn allowed_programs_depend_on_the_stage() {
        let trace = read(TRACE, Path::new("/base/repositories"));
        let actions: Vec<_> =
            trace.forbidden.iter().map(|action| (action.number, action.what.as_str())).collect();
        assert_eq!(actions[0], (0, "started /base/repositories/0/project/ls"));
        assert_eq!(actions[1], (1, "started /usr/bin/bash"));
        assert!(actions[2].1.starts_with("opened a socket"));
        assert_eq!((actions.len(), trace.started, trace.is_whole), (3, 3, true));
    }
}
