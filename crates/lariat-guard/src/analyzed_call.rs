//! Splits a tool call into parts, each of which must be allowed.

use std::path::PathBuf;

use lariat_core::file_access::FileUse;
use lariat_core::patch;
use lariat_core::permission::DangerLevel;
use lariat_core::tool::ToolEffects;
use serde_json::Value;
use url::Url;

use crate::check_context::CheckContext;
use crate::danger::ScriptWalk;
use crate::judgement::JudgedFile;
use crate::part::{FileAccess, Part, PartKind, TouchedFile};
use crate::resolve::ResolvedPath;
use crate::shell::{self, Command, Doubt, Script};
use crate::tool_name::{CallSubject, MCP, call_subject, is_operation};

/// A tool call, split into parts.
pub(crate) struct AnalyzedCall {
    pub(crate) parts: Vec<Part>,
    pub(crate) script: Script,
    /// The text of the script.
    pub(crate) text: String,
    /// Whether the text is typed into a program that already runs: deny and ask rules can match it, allow rules cannot.
    pub(crate) is_typed: bool,
}

impl AnalyzedCall {
    pub(crate) fn new(tool: &str, arguments: &Value, effects: ToolEffects, context: &CheckContext) -> Self {
        let mut call =
            Self { parts: Vec::new(), script: Script::default(), text: String::new(), is_typed: false };
        let text = |names: &[&str]| names.iter().find_map(|name| arguments.get(name)?.as_str());
        let call_subject = call_subject(tool);
        match call_subject {
            CallSubject::Command | CallSubject::Input => {
                call.is_typed = call_subject == CallSubject::Input;
                call.text = text(&["command", "text"]).unwrap_or_default().to_owned();
                call.script = shell::analyse(&call.text);
                call.commands(tool, context);
            }
            CallSubject::Read | CallSubject::Directory => {
                let path = text(&["path", "file_path", "notebook_path"]).unwrap_or(".");
                let access =
                    if call_subject == CallSubject::Read { FileAccess::Read } else { FileAccess::Enter };
                call.parts.push(Part::file(context.target(path), access, context));
            }
            CallSubject::Write => match text(&["path", "file_path", "notebook_path"]) {
                Some(path) => call.parts.push(Part::file(context.target(path), FileAccess::Write, context)),
                None => call.parts.push(Part::new(PartKind::Tool, tool, DangerLevel::Dangerous)),
            },
            CallSubject::Patch => call.patch(tool, text(&["patch"]), context),
            CallSubject::Address => {
                let address = text(&["url"]).unwrap_or_default();
                let part = Part::new(PartKind::Address(host(address)), address, DangerLevel::Dangerous);
                call.parts.push(part.without_changes());
            }
            CallSubject::Agent => {
                let name =
                    text(&["agent", "subagent_type", "agent_type", "name", "type"]).unwrap_or_default();
                call.parts.push(Part::new(PartKind::Name(name.to_owned()), name, DangerLevel::Safe));
            }
            CallSubject::Skill => {
                let name = text(&["skill", "name", "command"]).unwrap_or_default();
                let words = text(&["args", "arguments"]).unwrap_or_default();
                let whole = format!("{name} {words}").trim_end().to_owned();
                call.parts.push(Part::new(PartKind::Name(whole.clone()), whole, DangerLevel::Safe));
            }
            CallSubject::Nothing => call.parts.push(other(tool, effects)),
        }
        call
    }

    /// A tool call that uses only one file.
    pub(crate) fn of_file(part: Part) -> Self {
        Self { parts: vec![part], script: Script::default(), text: String::new(), is_typed: false }
    }

    /// Returns the real paths of the files it names. Excludes what commands touch.
    pub(crate) fn files(&self) -> Vec<JudgedFile> {
        self.files_by(|target| [target.real.clone(), target.entry.clone()])
    }

    /// Returns the real paths of the workspace files it writes, including those that commands write.
    pub(crate) fn written(&self) -> Vec<PathBuf> {
        let touched_files = self.parts.iter().flat_map(|part| &part.touched_files);
        let written = touched_files.filter(|touch| touch.access == FileAccess::Write && touch.is_inside);
        let mut paths: Vec<_> = written
            .map(|touch| touch.target.real.clone().unwrap_or_else(|| touch.target.named.clone()))
            .collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Like [`files`](Self::files), with the paths as named.
    pub(crate) fn files_as_named(&self) -> Vec<JudgedFile> {
        self.files_by(|target| [Some(target.named.clone()), None])
    }

    fn files_by(&self, paths: impl Fn(&ResolvedPath) -> [Option<PathBuf>; 2]) -> Vec<JudgedFile> {
        let parts =
            self.parts.iter().filter(|part| self.text.is_empty() && matches!(part.kind, PartKind::File));
        let files = |touch: &TouchedFile| {
            let used = if touch.access == FileAccess::Write { FileUse::Write } else { FileUse::Read };
            paths(&touch.target).into_iter().flatten().map(move |path| JudgedFile { path, used })
        };
        parts.flat_map(|part| &part.touched_files).flat_map(files).collect()
    }

    /// Adds the files that a patch changes, found by the parser that the tool uses. The tool rejects what the parser
    /// rejects before it touches anything.
    fn patch(&mut self, tool: &str, patch: Option<&str>, context: &CheckContext) {
        match patch.map(patch::parse) {
            Some(Ok(changes)) => {
                let paths = changes.iter().flat_map(patch::Change::paths);
                self.parts
                    .extend(paths.map(|path| Part::file(context.target(path), FileAccess::Write, context)));
            }
            Some(Err(_)) => self.parts.push(Part::new(PartKind::Tool, tool, DangerLevel::Safe)),
            None => self.parts.push(Part::new(PartKind::Tool, tool, DangerLevel::Dangerous)),
        }
    }

    /// Adds the parts of the script: its commands and the files that the shell opens.
    fn commands(&mut self, tool: &str, context: &CheckContext) {
        let walk = ScriptWalk::new(&self.script, &self.text, context);
        self.parts = walk.parts();
        if self.is_typed {
            self.parts.push(Part::new(PartKind::Tool, tool, DangerLevel::Dangerous));
        } else if self.parts.is_empty() && self.script.doubts.is_empty() && !self.text.trim().is_empty() {
            // A comment, or a redirection that opens nothing.
            self.parts.push(Part::new(PartKind::Tool, self.text.trim(), DangerLevel::Safe));
        } else if self.parts.is_empty() {
            self.parts.push(Part::new(PartKind::Tool, self.text.trim(), DangerLevel::Dangerous));
        }
    }

    pub(crate) fn command(&self, part: &Part) -> Option<&Command> {
        match part.kind {
            PartKind::Command(number) => self.script.commands.get(number),
            _ => None,
        }
    }

    /// Whether the script cannot be parsed at all.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.script.doubts.iter().any(|doubt| matches!(doubt, Doubt::Unreadable(_) | Doubt::TooLong))
    }
}

/// Lariat's own tools that only inspect or stop what was allowed before, or change nothing.
const HARMLESS: &[&str] =
    &["bash_output", "bash_stop", "todo", "ask_user", "recall", "learn", "past_sessions"];

fn other(tool: &str, effects: ToolEffects) -> Part {
    let reads = effects.is_read_only() || (is_operation(tool) && effects.changes_nothing());
    let claimed = !tool.starts_with(MCP) && reads;
    if claimed || HARMLESS.contains(&tool) {
        return Part::new(PartKind::Tool, tool, DangerLevel::Safe);
    }
    let changes = ToolEffects::WRITES.and(ToolEffects::EXECUTES);
    let mut part = Part::new(PartKind::Tool, tool, DangerLevel::Dangerous);
    // A server's own claims about its tools are not trusted.
    let looks = !effects.contains(ToolEffects::WRITES) && !effects.contains(ToolEffects::EXECUTES);
    part.changes = tool.starts_with(MCP) || !looks || effects.contains(changes);
    part
}

/// Returns the host of an address in lower case; `None` if two parsers could disagree about it. The parser is the one of the
/// client that connects, and it must have changed nothing in front of the path but upper case.
pub(crate) fn host(address: &str) -> Option<String> {
    if address.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return None;
    }
    let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?;
    let written = address.to_ascii_lowercase();
    let rest = written.strip_prefix(url.scheme())?.strip_prefix("://")?.strip_prefix(host)?;
    let ends = rest.is_empty() || rest.starts_with(['/', '?', '#', ':']);
    let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_');
    let host = host.trim_end_matches('.');
    (ends && is_plain && !host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn host_is_known_only_if_every_parser_agrees() {
        for (address, expected) in [
            ("https://example.com/a", Some("example.com")),
            ("HTTPS://Example.COM.", Some("example.com")),
            ("http://127.0.0.1:80/", Some("127.0.0.1")),
            ("https://a@b.c/", None),
            ("https://[::1]/", None),
            ("https://a.b:x/", None),
            ("https:///etc", None),
            ("https://a%2eb/", None),
            ("http://a.b:80@c.d/", None),
            ("http://0x7f.1/", None),
            ("http://2130706433/", None),
            ("https://b\u{fc}cher.example/", None),
            ("https:a.b/", None),
            ("ftp://a.b/", None),
            ("//a.b/", None),
            ("", None),
        ] {
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
    }
}
