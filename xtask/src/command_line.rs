//! A command line as data, which can be displayed, tested and run.
//!
//! Children start in the workspace's root and inherit the terminal. Invariant: `Display` prints a line that
//! can be pasted into a shell at the workspace's root.

use std::fmt;
use std::io::{BufRead, BufReader};
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
    /// A cargo command; `words` are separated by blanks.
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

    /// Runs the command in this terminal and fails if it fails.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let status = self.status(workspace)?;
        if status.success() {
            return Ok(());
        }
        bail!("`{self}` failed ({status})")
    }

    /// Runs the command in this terminal and returns its exit code.
    pub(crate) fn pass_through(&self, workspace: &Workspace) -> Result<ExitCode> {
        let status = self.status(workspace)?;
        // No code means death by a signal. A code that a shell cannot show must not become 0.
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Ok(ExitCode::from(code))
    }

    /// Runs the command and returns its standard output; fails with its standard error.
    pub(crate) fn capture(&self, workspace: &Workspace) -> Result<String> {
        let output = self.to_command(workspace).output().with_context(|| self.start_error())?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!("`{self}` failed ({}):\n{}", output.status, complaint.trim_end());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` did not print UTF-8"))
    }

    /// Runs the command, drops its standard output and returns its standard error; fails with it.
    pub(crate) fn capture_errors(&self, workspace: &Workspace) -> Result<String> {
        let output = self.to_command(workspace).stdout(Stdio::null()).output();
        let output = output.with_context(|| self.start_error())?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            bail!("`{self}` failed ({}):\n{}", output.status, errors.trim_end());
        }
        Ok(errors)
    }

    /// Runs the command and returns its exit code, if it was not killed, and its standard output.
    pub(crate) fn exit_code_and_output(&self, workspace: &Workspace) -> Result<(Option<i32>, String)> {
        let output = self.to_command(workspace).stderr(Stdio::inherit()).output();
        let output = output.with_context(|| self.start_error())?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// Runs the command, shows its standard output while it runs, and returns it; fails if the command fails.
    pub(crate) fn run_and_keep_output(&self, workspace: &Workspace) -> Result<String> {
        let child = self.to_command(workspace).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| self.start_error())?;
        let mut kept = String::new();
        for line in child.stdout.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
            let line = line.with_context(|| format!("`{self}` did not print UTF-8"))?;
            println!("{line}");
            kept.push_str(&line);
            kept.push('\n');
        }
        let status = child.wait().with_context(|| self.start_error())?;
        if !status.success() {
            bail!("`{self}` failed ({status})");
        }
        Ok(kept)
    }

    /// Whether the command can be started and succeeds; its output is dropped.
    pub(crate) fn succeeds_quietly(&self, workspace: &Workspace) -> bool {
        self.exit_code_quietly(workspace).is_ok_and(|code| code == Some(0))
    }

    /// Runs the command, drops its output and returns its exit code, if it was not killed.
    pub(crate) fn exit_code_quietly(&self, workspace: &Workspace) -> Result<Option<i32>> {
        let status = self.to_command(workspace).stdout(Stdio::null()).stderr(Stdio::null()).status();
        Ok(status.with_context(|| self.start_error())?.code())
    }

    fn status(&self, workspace: &Workspace) -> Result<ExitStatus> {
        self.to_command(workspace).status().with_context(|| self.start_error())
    }

    fn to_command(&self, workspace: &Workspace) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(workspace.root());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn start_error(&self) -> String {
        format!("cannot start `{}`; check that it is installed and on PATH", self.program)
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(formatter, "{name}={} ", quote(value))?;
        }
        write!(formatter, "{}", self.program)?;
        for argument in &self.arguments {
            write!(formatter, " {}", quote(argument))?;
        }
        Ok(())
    }
}

fn quote(word: &str) -> String {
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
    fn displays_a_line_that_a_shell_accepts() {
        let line = CommandLine::cargo("doc --no-deps")
            .with_environment("RUSTDOCFLAGS", "-D warnings")
            .with_arguments(["it's", ""]);
        assert_eq!(line.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s' ''");
    }
}
