//! A part of a tool call: a command of the script, a file that is read or written, or a host that is contacted.
//!
//! No rule is involved yet. A deny or ask rule applies if it matches one part; to allow the tool call, every part must be
//! covered.

use lariat_core::permission::DangerLevel;

use crate::check_context::CheckContext;
use crate::matched_files::MatchedFiles;
use crate::protected::{policy, protected_name};
use crate::resolve::ResolvedPath;

/// How a file is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAccess {
    Read,
    Write,
    /// A directory becomes the working directory.
    Enter,
}

/// A file that a part uses.
#[derive(Clone, Debug)]
pub(crate) struct TouchedFile {
    pub(crate) target: ResolvedPath,
    pub(crate) access: FileAccess,
    /// It lies in the workspace, or in a directory that may be read like it, in all forms of its path.
    pub(crate) is_inside: bool,
    /// More files that it stands for: those in a directory, or those that match a pattern.
    pub(crate) matched: Option<MatchedFiles>,
}

impl TouchedFile {
    pub(crate) fn new(target: ResolvedPath, access: FileAccess, context: &CheckContext) -> Self {
        let place = if access == FileAccess::Read { &context.readable } else { &context.workspace };
        let is_inside = target.is_beneath(place);
        Self { target, access, is_inside, matched: None }
    }
}

/// What a part is.
#[derive(Clone, Debug)]
pub(crate) enum PartKind {
    /// A command of the script, by its index.
    Command(usize),
    /// The file in `touched_files`.
    File,
    /// An address; the host is `None` if it is ambiguous.
    Address(Option<String>),
    /// An agent or a skill.
    Name(String),
    /// A tool about which nothing more is known.
    Tool,
}

/// One thing that a tool call would do.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    /// Text for the user.
    pub(crate) shown: String,
    pub(crate) danger: DangerLevel,
    /// False if it only reads, in the workspace or elsewhere.
    pub(crate) changes: bool,
    pub(crate) touched_files: Vec<TouchedFile>,
    /// Why it is critical, if it is.
    pub(crate) critical: Option<String>,
    /// The protected name that it would write, if any.
    pub(crate) protected: Option<String>,
    /// A file that it uses is known only at run time.
    pub(crate) hides_files: bool,
    /// It does nothing but read or enter the files in `touched_files`.
    pub(crate) only_reads: bool,
}

impl Part {
    pub(crate) fn new(kind: PartKind, shown: impl Into<String>, danger: DangerLevel) -> Self {
        Self {
            kind,
            shown: shown.into(),
            danger,
            changes: danger != DangerLevel::Safe,
            touched_files: Vec::new(),
            critical: None,
            protected: None,
            hides_files: false,
            only_reads: false,
        }
    }

    pub(crate) fn without_changes(mut self) -> Self {
        self.changes = false;
        self
    }

    /// A part that uses one file.
    pub(crate) fn file(target: ResolvedPath, access: FileAccess, context: &CheckContext) -> Self {
        let touch = TouchedFile::new(target, access, context);
        let shown = touch.target.named.display().to_string();
        let danger = match access {
            FileAccess::Write if touch.is_inside => DangerLevel::Moderate,
            FileAccess::Read | FileAccess::Enter if touch.is_inside => DangerLevel::Safe,
            _ => DangerLevel::Dangerous,
        };
        let mut part = Self::new(PartKind::File, shown, danger);
        part.changes = access == FileAccess::Write;
        part.touched_files.push(touch);
        part.raise_danger(context);
        part
    }

    /// Raises the danger level if a written file is protected, a device, or controls permissions.
    pub(crate) fn raise_danger(&mut self, context: &CheckContext) {
        for touch in self.touched_files.iter().filter(|touch| touch.access == FileAccess::Write) {
            let device = touch.target.forms().any(crate::critical::is_device);
            if self.critical.is_none() && policy(&touch.target, &context.places) {
                let path = touch.target.named.display();
                self.critical = Some(format!("`{path}` controls permissions"));
            } else if self.critical.is_none() && device {
                self.critical = Some(format!("`{}` is a device", touch.target.named.display()));
            }
            if self.protected.is_none() {
                self.protected =
                    protected_name(&touch.target).or_else(|| context.places.script(&touch.target));
            }
        }
        if self.critical.is_some() {
            self.danger = DangerLevel::Critical;
        } else if self.protected.is_some() {
            self.danger = DangerLevel::Dangerous;
        }
    }
}
