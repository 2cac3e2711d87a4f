//! Finds the program that a wrapper runs, such as `rm` in `timeout 5 rm x`.
//!
//! Lists the wrappers and their options. An option that is not listed, or an unknown word before the program, is a doubt: the
//! program could be any later word.

use super::Word;

/// How to parse the options of a wrapper.
struct Wrapper {
    name: &'static str,
    /// Options that take a value.
    values: &'static [&'static str],
    /// Options that take no value.
    flags: &'static [&'static str],
    /// Number of operands before the program.
    operands: usize,
    /// Whether `NAME=VALUE` may precede the program.
    sets: bool,
}

const fn wrapper(
    name: &'static str,
    values: &'static [&'static str],
    flags: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, values, flags, operands: 0, sets: false }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        operands: 1,
        ..wrapper(
            "timeout",
            &["-k", "-s", "--kill-after", "--signal"],
            &["-v", "--verbose", "--foreground", "--preserve-status"],
        )
    },
    wrapper("time", &[], &["-p", "-v", "-q"]),
    wrapper("nice", &["-n", "--adjustment"], &["-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"]),
    wrapper("nohup", &[], &[]),
    wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], &[]),
    wrapper("command", &[], &["-p"]),
    wrapper("builtin", &[], &[]),
    wrapper("exec", &[], &[]),
    wrapper("noglob", &[], &[]),
    wrapper("nocorrect", &[], &[]),
    Wrapper {
        sets: true,
        ..wrapper(
            "env",
            &["-u", "--unset", "-C", "--chdir"],
            &["-", "-i", "-0", "-v", "--ignore-environment", "--null", "--debug"],
        )
    },
    wrapper(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-s",
            "-d",
            "-E",
            "-a",
            "--max-args",
            "--max-procs",
            "--max-chars",
            "--delimiter",
            "--arg-file",
        ],
        &[
            "-0",
            "-r",
            "-t",
            "-p",
            "-x",
            "-o",
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--interactive",
            "--exit",
            "--open-tty",
        ],
    ),
    Wrapper {
        sets: true,
        ..wrapper(
            "sudo",
            &[
                "-u", "-g", "-p", "-C", "-T", "-r", "-t", "-h", "-D", "--user", "--group", "--prompt",
                "--host", "--chdir",
            ],
            &[
                "-n",
                "-E",
                "-H",
                "-S",
                "-k",
                "-b",
                "-A",
                "-P",
                "-B",
                "--non-interactive",
                "--preserve-env",
                "--set-home",
                "--stdin",
            ],
        )
    },
    wrapper("doas", &["-u", "-C", "-a"], &["-n", "-L"]),
    wrapper("setsid", &[], &["-c", "-f", "-w", "--ctty", "--fork", "--wait"]),
    wrapper("ionice", &["-c", "-n", "--class", "--classdata"], &["-t", "--ignore"]),
    Wrapper {
        operands: 1,
        ..wrapper(
            "flock",
            &["-w", "-E", "--timeout", "--wait", "--conflict-exit-code"],
            &[
                "-s",
                "-x",
                "-e",
                "-n",
                "-u",
                "-o",
                "-F",
                "--shared",
                "--exclusive",
                "--nonblock",
                "--nb",
                "--unlock",
                "--close",
                "--no-fork",
                "--verbose",
            ],
        )
    },
    wrapper(
        "strace",
        &["-e", "-s", "-a", "-P", "-I", "-O", "-S", "-X", "-b"],
        &[
            "-f", "-ff", "-c", "-C", "-q", "-qq", "-r", "-t", "-tt", "-ttt", "-T", "-v", "-x", "-xx", "-y",
            "-yy", "-Y", "-z", "-Z", "-k", "-i", "-n", "-d",
        ],
    ),
];

/// Which word of a command is the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WrappedProgram {
    /// It is not a wrapper, or runs nothing: the command itself is what runs.
    Nothing,
    /// The program starts at this word; these variables are set for it.
    Program { at: usize, sets: Vec<(String, Word)> },
    /// It runs something unknown.
    Hidden,
}

/// Returns the name of a program without its directory.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Finds the program that a command runs.
pub(super) fn wrapped_program(words: &[Word]) -> WrappedProgram {
    let Some(name) = words.first().and_then(Word::as_known).map(base) else { return WrappedProgram::Nothing };
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else {
        return WrappedProgram::Nothing;
    };
    let mut at = 1;
    let mut operands = wrapper.operands;
    let mut sets = Vec::new();
    let mut has_options = true;
    loop {
        let Some(word) = words.get(at) else {
            // `xargs` without a program runs `echo`; the others run nothing.
            return WrappedProgram::Nothing;
        };
        if wrapper.sets
            && operands == 0
            && let Some((name, value)) = word.text.split_once('=')
            && super::names::is_name(name)
        {
            let value = if word.is_known { Word::known(value) } else { Word::unknown(value) };
            sets.push((name.to_owned(), value));
            at += 1;
            continue;
        }
        let Some(text) = word.as_known() else { return WrappedProgram::Hidden };
        if wrapper.sets && text.contains('=') && !text.starts_with('-') {
            // Not a valid variable name: an exported bash function, for example.
            return WrappedProgram::Hidden;
        }
        if !sets.is_empty() && text.starts_with('-') {
            // For `env`, options end at the first variable, and this is a program; `sudo` accepts further options.
            return WrappedProgram::Hidden;
        }
        if name == "exec" && text.starts_with('-') {
            // For bash this is an option, for dash the program, even `--`.
            return WrappedProgram::Hidden;
        }
        if has_options && text == "--" {
            has_options = false;
            at += 1;
        } else if text == "-" && wrapper.flags.contains(&"-") {
            // `env -` is an option once, after the others; a second `-` is a program.
            if words.get(at + 1).is_none_or(|next| next.as_known().is_none_or(|next| next.starts_with('-'))) {
                return WrappedProgram::Hidden;
            }
            at += 1;
        } else if has_options && text.starts_with('-') && text.len() > 1 {
            match wrapper.option(text) {
                // An unknown value may be many words, or none.
                Some(2) if words.get(at + 1).is_some_and(|value| !value.is_known) => {
                    return WrappedProgram::Hidden;
                }
                Some(taken) => at += taken,
                // These print where a program is, or help, and run nothing.
                None if name == "command" && matches!(text, "-v" | "-V") => return WrappedProgram::Nothing,
                None if matches!(text, "--help" | "--version") => return WrappedProgram::Nothing,
                None => return WrappedProgram::Hidden,
            }
        } else if operands > 0 {
            operands -= 1;
            at += 1;
            // Options end here; only `flock` accepts one more.
            has_options = false;
        } else if wrapper.operands > 0 && text.starts_with('-') {
            return WrappedProgram::Hidden;
        } else {
            return WrappedProgram::Program { at, sets };
        }
    }
}

impl Wrapper {
    /// Returns how many words an option takes, including itself.
    fn option(&self, text: &str) -> Option<usize> {
        if self.flags.contains(&text) {
            return Some(1);
        }
        if self.values.contains(&text) {
            return Some(2);
        }
        if text.starts_with("--") {
            let (name, _) = text.split_once('=')?;
            return self.values.contains(&name).then_some(1);
        }
        // Combined letters: flags, then perhaps an option with its value.
        let letters = text.strip_prefix('-')?;
        for (at, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            if self.values.contains(&option.as_str()) {
                return Some(if at + letter.len_utf8() == letters.len() { 2 } else { 1 });
            }
            if !self.flags.contains(&option.as_str()) {
                return None;
            }
        }
        Some(1)
    }
}

/// Shells whose language is bash, or a part of it.
const SHELLS: &[&str] = &["bash", "sh", "dash"];
/// What means one thing to bash and another to a plain `sh`: `((a))` is arithmetic, or runs `a`.
const ONLY_BASH: &[&str] =
    &["$'", "$\"", "[[", "((", "&>", "<(", ">(", "<<<", "|&", ";&", "+=", "=(", "$[", "function", "select"];
/// Shells with another language: close enough to list what they run, but not to be certain.
const OTHER_SHELLS: &[&str] = &["ash", "csh", "fish", "ksh", "mksh", "rbash", "tcsh", "zsh"];

/// The text that a shell runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShellText<'a> {
    /// It is not a shell, or runs no text.
    Nothing,
    /// This text, possibly in another language.
    Known { text: &'a str, is_ours: bool },
    /// An unknown text.
    Hidden,
}

/// Returns the text of `bash -c TEXT`.
pub(super) fn shell_text(words: &[Word]) -> ShellText<'_> {
    let Some(name) = words.first().and_then(Word::as_known).map(base) else { return ShellText::Nothing };
    let is_one_of_ours = SHELLS.contains(&name);
    let known = |text| {
        let is_same = name == "bash"
            || !ONLY_BASH.iter().any(|piece| str::contains(text, piece)) && !has_long_descriptor(text);
        ShellText::Known { text, is_ours: is_one_of_ours && is_same }
    };
    if !is_one_of_ours && !OTHER_SHELLS.contains(&name) {
        return ShellText::Nothing;
    }
    let mut rest = words.iter().skip(1);
    let mut wants_text = false;
    while let Some(word) = rest.next() {
        let Some(text) = word.as_known() else { return ShellText::Hidden };
        if text == "--" {
            // The next word is the text, or a file.
            let next = rest.next();
            return match next.map(|word| (wants_text, word.as_known())) {
                Some((true, Some(text))) => known(text),
                Some((true, None)) => ShellText::Hidden,
                Some((false, _)) | None => ShellText::Nothing,
            };
        }
        match text {
            "--login" | "--norc" | "--noprofile" | "--posix" | "--noediting" | "--verbose"
            | "--restricted" => continue,
            "--version" | "--help" => return ShellText::Nothing,
            _ if text.starts_with("--") => return ShellText::Hidden,
            _ => {}
        }
        if matches!(text, "-" | "+") {
            // `-` ends the options like `--`; what follows may be the text.
            return ShellText::Hidden;
        }
        let Some(letters) = text.strip_prefix(['-', '+']) else {
            return if wants_text { known(text) } else { ShellText::Nothing };
        };
        wants_text |= letters.contains('c') && text.starts_with('-');
        for _ in letters.matches(['o', 'O']) {
            if rest.next().is_none_or(|value| !value.is_known) {
                return ShellText::Hidden;
            }
        }
        if !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return ShellText::Hidden;
        }
    }
    ShellText::Nothing
}

/// Whether a text contains `10>`, which is a file descriptor to bash and a word to other shells.
fn has_long_descriptor(text: &str) -> bool {
    let is_long = |bytes: &[u8]| matches!(bytes, [one, other, b'<' | b'>'] if one.is_ascii_digit() && other.is_ascii_digit());
    text.replace("\\\n", "").as_bytes().windows(3).any(is_long)
}

/// Whether a program is a shell, which can read its commands from its input or from a file.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name) || OTHER_SHELLS.contains(&name)
}

#[cfg(test)]
#[path = "wrapper_tests.rs"]
mod tests;
