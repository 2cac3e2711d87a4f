//! Which programs run what their arguments say.
//!
//! Owns the table, as data for rules: such a command is never covered by the beginning of its words, and never only reads.
//! `python *` is everything; `python -m json.tool` is one thing.

use super::wrapper::{base, is_shell};
use super::{Command, Word};

/// When a program runs its arguments.
enum Runs {
    Always,
    /// When an option begins with one of these, or a word is one of them.
    With(&'static [&'static str]),
    /// When a word holds one of these.
    Holding(&'static [&'static str]),
    /// When its script is more than printing, deleting and replacing lines.
    Sed,
}

/// Programs whose arguments, or whose input, are programs.
const INTERPRETERS: &[&str] = &[
    "bun",
    "deno",
    "erl",
    "expect",
    "gdb",
    "ghci",
    "groovy",
    "guile",
    "irb",
    "iex",
    "jshell",
    "julia",
    "ipython",
    "lua",
    "luajit",
    "m4",
    "node",
    "nodejs",
    "ocaml",
    "octave",
    "osascript",
    "perl",
    "php",
    "powershell",
    "psql",
    "pwsh",
    "pypy",
    "pypy3",
    "python",
    "python2",
    "python3",
    "R",
    "racket",
    "Rscript",
    "ruby",
    "runghc",
    "scala",
    "scheme",
    "sqlite3",
    "swift",
    "tclsh",
    "ts-node",
    "tsx",
    "wish",
    "mysql",
    "bc",
    "dc",
    "ed",
    "ex",
    "source",
    ".",
];

const RUNNERS: &[(&str, Runs)] = &[
    // Others' programs as arguments.
    ("at", Runs::Always),
    ("batch", Runs::Always),
    ("bundle", Runs::With(&["exec"])),
    ("bunx", Runs::Always),
    ("busybox", Runs::Always),
    ("bwrap", Runs::Always),
    ("caffeinate", Runs::Always),
    ("chroot", Runs::Always),
    ("chrt", Runs::Always),
    ("corepack", Runs::Always),
    ("conda", Runs::With(&["run"])),
    ("crontab", Runs::Always),
    ("dbus-run-session", Runs::Always),
    ("devbox", Runs::Always),
    ("direnv", Runs::With(&["exec", "allow"])),
    ("distrobox", Runs::Always),
    ("docker", Runs::With(&["exec", "run", "compose"])),
    ("docker-compose", Runs::Always),
    ("doas", Runs::Always),
    ("dotenv", Runs::Always),
    ("emacs", Runs::Always),
    ("entr", Runs::Always),
    ("eval", Runs::Always),
    ("exec", Runs::Always),
    ("fakeroot", Runs::Always),
    ("firejail", Runs::Always),
    ("flatpak", Runs::Always),
    ("flock", Runs::Always),
    ("hyperfine", Runs::Always),
    ("ionice", Runs::Always),
    ("just", Runs::Always),
    ("kubectl", Runs::With(&["exec", "run", "debug", "cp"])),
    ("ld.so", Runs::Always),
    ("less", Runs::Always),
    ("ltrace", Runs::Always),
    ("make", Runs::Always),
    ("gmake", Runs::Always),
    ("man", Runs::With(&["-P", "--pager", "-H"])),
    ("mise", Runs::Always),
    ("more", Runs::Always),
    ("nano", Runs::Always),
    ("nix", Runs::Always),
    ("nix-shell", Runs::Always),
    ("nmap", Runs::With(&["--script"])),
    ("npm", Runs::With(&["exec", "x", "--node-options", "--script-shell", "init", "create"])),
    ("npx", Runs::Always),
    ("nsenter", Runs::Always),
    ("parallel", Runs::Always),
    ("perf", Runs::Always),
    ("pipx", Runs::With(&["run"])),
    ("pnpm", Runs::With(&["exec", "dlx"])),
    ("podman", Runs::With(&["exec", "run"])),
    ("poetry", Runs::With(&["run"])),
    ("pkexec", Runs::Always),
    ("proot", Runs::Always),
    ("rlwrap", Runs::Always),
    ("runuser", Runs::Always),
    ("screen", Runs::Always),
    ("script", Runs::Always),
    ("setpriv", Runs::Always),
    ("setsid", Runs::Always),
    ("socat", Runs::Always),
    ("ssh", Runs::Always),
    ("sshpass", Runs::Always),
    ("start-stop-daemon", Runs::Always),
    ("strace", Runs::Always),
    ("su", Runs::Always),
    ("sudo", Runs::Always),
    ("systemd-run", Runs::Always),
    ("taskset", Runs::Always),
    ("tmux", Runs::Always),
    ("toolbox", Runs::Always),
    ("torsocks", Runs::Always),
    ("trap", Runs::Always),
    ("unbuffer", Runs::Always),
    ("unshare", Runs::Always),
    ("uv", Runs::With(&["run", "tool"])),
    ("uvx", Runs::Always),
    ("valgrind", Runs::Always),
    ("vi", Runs::Always),
    ("view", Runs::Always),
    ("vim", Runs::Always),
    ("nvim", Runs::Always),
    ("watch", Runs::Always),
    ("xargs", Runs::Always),
    ("xterm", Runs::Always),
    ("yarn", Runs::With(&["exec", "dlx", "node"])),
    ("gtimeout", Runs::Always),
    ("ncat", Runs::With(&["-e", "-c", "--exec", "--sh-exec"])),
    ("nc", Runs::With(&["-e", "-c"])),
    // One option of many.
    ("awk", Runs::Holding(&["system", "|", ">", "getline", "@", "-f", "-i", "-l"])),
    ("gawk", Runs::Holding(&["system", "|", ">", "getline", "@", "-f", "-i", "-l"])),
    ("mawk", Runs::Holding(&["system", "|", ">", "getline", "@", "-f", "-W"])),
    ("cmake", Runs::With(&["-P", "-E", "--build", "-D"])),
    ("curl", Runs::With(&["-K", "--config"])),
    ("dpkg", Runs::With(&["-i", "--pre-invoke", "--post-invoke"])),
    ("env", Runs::Always),
    ("fd", Runs::With(&["-x", "-X", "--exec"])),
    ("fdfind", Runs::With(&["-x", "-X", "--exec"])),
    ("find", Runs::With(&["-exec", "-ok", "-delete", "-fprint", "-fls"])),
    ("fzf", Runs::With(&["--preview", "--bind", "--execute"])),
    ("gh", Runs::With(&["alias", "extension", "codespace"])),
    (
        "git",
        Runs::With(&[
            "-c",
            "--config-env",
            "--exec-path",
            "-C",
            "--git-dir",
            "--work-tree",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "-x",
            "--ext-diff",
            "--textconv",
            "--open-files-in-pager",
            "-O",
            "filter-branch",
            "foreach",
            "bisect",
            "config",
            "difftool",
            "mergetool",
            "daemon",
            "instaweb",
            "rebase",
            "ext::",
            "archive",
            "submodule",
            "hook",
            "alias",
            "send-email",
            "--template",
            "--output",
        ]),
    ),
    ("go", Runs::With(&["run", "generate", "tool", "-toolexec", "-exec", "vet"])),
    ("hg", Runs::With(&["--config"])),
    ("java", Runs::Always),
    ("rg", Runs::With(&["--pre", "--hostname-bin", "-z", "--search-zip"])),
    ("rsync", Runs::With(&["-e", "--rsh", "--rsync-path"])),
    ("scp", Runs::With(&["-o", "-S", "-F"])),
    ("sftp", Runs::Always),
    ("sort", Runs::With(&["--compress-program", "-o", "--output", "-T"])),
    ("split", Runs::With(&["--filter"])),
    ("sed", Runs::Sed),
    ("gsed", Runs::Sed),
    (
        "tar",
        Runs::With(&[
            "--to-command",
            "--checkpoint-action",
            "-I",
            "--use-compress-program",
            "--rsh-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ]),
    ),
    ("tcpdump", Runs::With(&["-z"])),
    ("wget", Runs::With(&["--use-askpass", "-e", "--execute", "--config"])),
    ("zip", Runs::With(&["-T", "--unzip-command"])),
    ("cargo", Runs::With(&["--config"])),
];

impl Command {
    /// The program, without its folder, when it is known.
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::as_known).map(base)
    }

    /// Whether the program reads programs: a shell, `python`, `node`, `psql`, `source`.
    pub fn is_interpreter(&self) -> bool {
        self.program()
            .is_some_and(|program| is_shell(program) || INTERPRETERS.contains(&unversioned(program)))
    }

    /// Whether its arguments or its input are run: interpreters, `xargs`, `find -exec`, `git -c`, `npx`, `make`. A rule must
    /// name such a command whole.
    pub fn runs_its_arguments(&self) -> bool {
        let Some(program) = self.program() else { return true };
        if self.is_interpreter() {
            return true;
        }
        let Some((_, runs)) = RUNNERS.iter().find(|(name, _)| *name == program) else { return false };
        let arguments = self.words.get(1..).unwrap_or_default();
        match runs {
            Runs::Always => true,
            // What is not known may be any option.
            Runs::With(starts) => arguments.iter().enumerate().any(|(at, word)| {
                let hides = !word.is_known && may_be_option(word) && !is_message(program, arguments, at);
                hides || begins(word, starts)
            }),
            Runs::Holding(parts) => arguments
                .iter()
                .any(|word| !word.is_known || parts.iter().any(|part| word.text.contains(part))),
            Runs::Sed => !is_plain_sed(arguments),
        }
    }
}

/// `git commit -m "$(cat …)"`: whatever the word becomes, it is one word, and it is the message.
fn is_message(program: &str, arguments: &[Word], at: usize) -> bool {
    let known = |at: usize| arguments.get(at).and_then(Word::as_known);
    let takes = program == "git" && matches!(known(0), Some("commit" | "tag" | "merge" | "stash"));
    let is_one_word = arguments.get(at).is_some_and(|word| !word.may_become_several());
    takes
        && is_one_word
        && at
            .checked_sub(1)
            .and_then(known)
            .is_some_and(|option| matches!(option, "-m" | "-am" | "--message"))
}

fn begins(word: &Word, starts: &[&str]) -> bool {
    // An option may have its value attached, a scheme an address; any other word must be the whole word.
    starts.iter().any(|start| match start.starts_with('-') || start.ends_with(':') {
        true => word.text.starts_with(start),
        false => word.text == *start,
    })
}

/// A word that begins with what is known begins with no option, unless it does, or becomes several.
fn may_be_option(word: &Word) -> bool {
    if word.may_become_several() {
        return true;
    }
    let inner = word.text.trim_start_matches(['"', '\'']);
    inner.is_empty() || inner.starts_with(['$', '`', '-', '{', '*', '?', '[', '\\'])
}

/// `python3.12` is `python`.
fn unversioned(program: &str) -> &str {
    let end = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if end.is_empty() || end.len() == program.len() { program } else { end }
}

fn is_plain_sed(arguments: &[Word]) -> bool {
    let mut script = None;
    for word in arguments {
        let Some(text) = word.as_known() else {
            // Files after the script may be anything that is no option.
            if script.is_none() || may_be_option(word) && !word.text.starts_with('*') {
                return false;
            }
            continue;
        };
        match text {
            "-n" | "-E" | "-r" | "-e" | "-ne" | "-nE" | "-En" | "-s" | "-u" | "-z" | "--quiet"
            | "--silent" | "--regexp-extended" => {}
            "-i" | "-Ei" | "-i.bak" | "-i.orig" => {}
            _ if text.starts_with('-') => return false,
            _ if script.is_none()
                || arguments.iter().any(|word| word.text.ends_with('e') && word.text.starts_with('-')) =>
            {
                if !text.split([';', '\n']).all(is_plain_sed_command) && script.is_none() {
                    return false;
                }
                script = Some(text);
            }
            _ => {}
        }
    }
    script.is_some()
}

/// An address and `p`, `d`, `q`, `=`, or a replacement without `e` and `w`.
fn is_plain_sed_command(command: &str) -> bool {
    let command = command.trim();
    if let Some(rest) = command.strip_prefix('s') {
        let Some(delimiter) = rest.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\') else {
            return false;
        };
        let parts: Vec<&str> = rest.split(delimiter).collect();
        return match parts.as_slice() {
            ["", _, _, flags] => !rest.contains('\\') && flags.chars().all(|c| "gIip0123456789".contains(c)),
            _ => false,
        };
    }
    let address = command.trim_end_matches(['p', 'd', 'q', '=']);
    command.len() - address.len() <= 1 && address.chars().all(|c| c.is_ascii_digit() || ",$!~+".contains(c))
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
