//! A command line as data: built by one module, shown, tested and run by another.
//!
//! Owns how children are started (in the workspace's root, inheriting the terminal) and how their exit status
//! is read. Does not own what is run.
//! Invariant: what `Display` shows can be pasted into a shell at the workspace's root.

use std::fmt;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandLine {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl CommandLine {
    /// A cargo command, its words separated by blanks.
    pub(crate) fn cargo(words: &str) -> Self {
        Self::of("cargo", words)
    }

    /// A command of another program.
    pub(crate) fn of(program: &str, words: &str) -> Self {
        let arguments = words.split_whitespace().map(str::to_owned).collect();
        Self { program: program.to_owned(), arguments, environment: Vec::new() }
    }

    pub(crate) fn with_arguments<I>(mut self, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub(crate) fn with_environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs with the terminal of this process and fails when the child does.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let status = self.status(workspace)?;
        if status.success() {
            return Ok(());
        }
        bail!("`{self}` failed ({status})")
    }

    /// Runs with the terminal of this process and answers with the child's own exit code.
    pub(crate) fn pass_through(&self, workspace: &Workspace) -> Result<ExitCode> {
        let status = self.status(workspace)?;
        // No code means death by a signal; a code that a shell cannot show must not turn into 0.
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Ok(ExitCode::from(code))
    }

    /// Runs, returns standard output, and fails with standard error when the child does.
    pub(crate) fn capture(&self, workspace: &Workspace) -> Result<String> {
        let output = self.prepared(workspace).output().with_context(|| self.cannot_start())?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!("`{self}` failed ({}):\n{}", output.status, complaint.trim_end());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` did not print UTF-8"))
    }

    /// Whether the command can be started and succeeds; its output is dropped.
    pub(crate) fn succeeds_quietly(&self, workspace: &Workspace) -> bool {
        let status = self.prepared(workspace).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    fn status(&self, workspace: &Workspace) -> Result<ExitStatus> {
        self.prepared(workspace).status().with_context(|| self.cannot_start())
    }

    fn prepared(&self, workspace: &Workspace) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(workspace.root());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn cannot_start(&self) -> String {
        format!("cannot start `{}`; is it installed and on PATH?", self.program)
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        write!(formatter, "{}", self.program)?;
        for argument in &self.arguments {
            write!(formatter, " {}", quoted(argument))?;
        }
        Ok(())
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn a_command_line_shows_what_a_shell_would_take() {
        let line = CommandLine::cargo("doc --no-deps")
            .with_environment("RUSTDOCFLAGS", "-D warnings")
            .with_arguments(["it's", ""]);
        assert_eq!(line.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s' ''");
    }
}
