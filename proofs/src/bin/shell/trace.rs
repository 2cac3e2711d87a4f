//! Parses the output of `strace`: which programs were started and which files a shell opened for writing.
//!
//! Invariant: an attempt is treated like success, because a failure may have its cause in the jail.

use std::collections::HashMap;

use super::jail_programs::{MARK, SHELL};

/// What one command did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TracedCommand {
    /// Programs started: the path, and the arguments if the trace has all of them.
    pub(crate) started: Vec<(String, Option<Vec<String>>)>,
    /// Files that a shell opened for writing.
    pub(crate) written: Vec<String>,
    /// Files that another program opened for writing.
    pub(crate) written_by_programs: Vec<String>,
    /// Whether it was stopped because it took too long.
    pub(crate) is_stopped: bool,
}

/// Returns what each of `count` commands did, or `None` if the trace is incomplete.
pub(crate) fn read(trace: &str, count: usize) -> Option<Vec<TracedCommand>> {
    let mut seen = vec![TracedCommand::default(); count];
    let mut now: Option<usize> = None;
    let mut is_whole = false;
    // The program of each process; a process that was never seen to start a program is a copy of a shell.
    let mut programs: HashMap<&str, String> = HashMap::new();
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let Some((name, arguments)) = call.split_once('(') else { continue };
        let Some(at) = arguments.find('"') else { continue };
        let Some((path, rest)) = string(arguments.get(at..)?) else { continue };
        if let Some(mark) = path.strip_prefix(MARK) {
            match mark {
                "end" => is_whole = true,
                "stopped" => {
                    if let Some(seen) = now.and_then(|now| seen.get_mut(now)) {
                        seen.is_stopped = true;
                    }
                }
                index => {
                    now = index.parse().ok();
                    programs.clear();
                    programs.insert(process, "driver".to_owned());
                }
            }
            continue;
        }
        let Some(seen) = now.and_then(|now| seen.get_mut(now)) else { continue };
        match name {
            "execve" | "execveat" => {
                let has_failed = rest.contains(" = -1 ");
                let base = path.rsplit('/').next().unwrap_or(&path).to_owned();
                if path != SHELL {
                    seen.started.push((path, words(rest)));
                }
                if !has_failed {
                    programs.insert(process, base);
                }
            }
            _ => {
                let writes = name == "creat"
                    || ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| rest.contains(flag));
                let is_shell = programs
                    .get(process)
                    .is_none_or(|program| matches!(program.as_str(), "bash" | "sh" | "dash"));
                let is_own = path == "/dev/tty"
                    || path.contains("/sh-thd")
                    || path.starts_with("/dev/fd/")
                    || path == "/dev/null";
                if writes && !is_own {
                    let list = if is_shell { &mut seen.written } else { &mut seen.written_by_programs };
                    list.push(path);
                }
            }
        }
    }
    is_whole.then_some(seen)
}

/// A quoted string at the start, and the rest.
fn string(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut bytes: Vec<u8> = Vec::new();
    let mut rest = inside.bytes().enumerate();
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => return Some((String::from_utf8_lossy(&bytes).into_owned(), inside.get(at + 1..)?)),
            b'\\' => {
                let (at, escaped) = rest.next()?;
                let byte = match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 11,
                    b'f' => 12,
                    b'0'..=b'7' => {
                        let digits = inside
                            .get(at..)?
                            .bytes()
                            .take(3)
                            .take_while(|byte| matches!(byte, b'0'..=b'7'))
                            .count();
                        let value = u32::from_str_radix(inside.get(at..at + digits)?, 8).ok()?;
                        for _ in 1..digits {
                            rest.next();
                        }
                        u8::try_from(value).ok()?
                    }
                    other => other,
                };
                bytes.push(byte);
            }
            other => bytes.push(other),
        }
    }
    None
}

/// The list of arguments that follows a path.
fn words(rest: &str) -> Option<Vec<String>> {
    let mut rest = rest.strip_prefix(", [")?;
    let mut words = Vec::new();
    loop {
        let (word, after) = string(rest)?;
        words.push(word);
        match after.strip_prefix(", ") {
            Some(more) => rest = more,
            None => return after.starts_with(']').then_some(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_separate_the_commands_of_a_trace() {
        let trace = r#"7 openat(AT_FDCWD, "/mark/0", O_RDONLY) = -1 ENOENT (No such file)
8 execve("/start/bash", ["bash", "-c", "x"], 0x7f /* 3 vars */) = 0
8 openat(AT_FDCWD, "f\303\251", O_WRONLY|O_CREAT, 0666) = 3
9 execve("/stubs/rm", ["rm", "a \"b\"\n"], 0x7f <unfinished ...>
9 openat(AT_FDCWD, "g", O_WRONLY) = 3
7 openat(AT_FDCWD, "/mark/1", O_RDONLY) = -1 ENOENT (No such file)
7 openat(AT_FDCWD, "/mark/end", O_RDONLY) = -1 ENOENT (No such file)
"#;
        let seen = read(trace, 2).unwrap();
        assert_eq!(seen[0].written, ["fé"]);
        assert_eq!(
            seen[0].started,
            [("/stubs/rm".to_owned(), Some(vec!["rm".to_owned(), "a \"b\"\n".to_owned()]))]
        );
        assert_eq!(seen[1], TracedCommand::default());
        assert_eq!(read("", 0), None);
    }
}
