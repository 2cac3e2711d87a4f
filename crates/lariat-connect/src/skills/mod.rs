//! Finds skills (directories with a `SKILL.md`) and builds the index of them that a model sees.
//!
//! Only the front matter is loaded; the model reads the body from the file when it needs it. Loading is lenient: an
//! unusual skill is loaded with a warning, and only a skill without a description is skipped.
//! Loading a skill never runs anything from it, and never follows a link out of the directory it is loaded from.

mod front_matter;
mod index;
mod yaml;

use std::path::{Path, PathBuf};

use lariat_host::files::{EntryKind, FileError, Workspace};

pub use front_matter::FrontMatter;

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";
/// Maximum entries of one directory that are examined.
const MAX_ENTRIES: usize = 500;
/// Maximum bytes of a `SKILL.md`; larger files are not instructions.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Maximum characters of a name, by the Agent Skills standard.
const MAX_NAME_CHARS: usize = 64;
/// Maximum characters of a description, by the Agent Skills standard.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// A directory of instructions for one kind of task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// The `name` of its front matter, or else the name of its directory.
    pub name: String,
    /// When to use the skill, in a few sentences.
    pub description: String,
    /// Its `SKILL.md`.
    pub file_path: PathBuf,
    /// Its directory.
    pub base_dir: PathBuf,
    /// Where it was loaded from: `dir:0`, `user`, `project`, `plugin`.
    pub source: String,
    /// Whether a model may choose it by itself; `disable-model-invocation: true` turns this off.
    pub is_listed: bool,
    /// Globs of the files that it is about; a model learns of it only when the task touches one. Empty for all tasks.
    pub paths: Vec<String>,
    /// Whether it asks to run apart from the conversation: `context: fork`.
    pub is_forked: bool,
    /// The sub-agent that runs it if it asks for that.
    pub agent: Option<String>,
    /// The model that the run of a message which invokes it uses; the model of the session if `None`.
    pub model: Option<String>,
}

/// A problem with a skill that did not stop loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillWarning {
    /// The affected file or directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// Skills sorted by name, and the warnings from loading them.
///
/// ```
/// use lariat_connect::SkillSet;
///
/// # let folder = std::env::temp_dir().join(format!("lariat-skills-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(folder.join("pdf")).unwrap();
/// # std::fs::write(folder.join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Fills forms.\n---\nFirst, …").unwrap();
/// let skills = SkillSet::load([&folder]);
/// assert_eq!(skills.skills()[0].name, "pdf");
/// assert!(skills.format_for_prompt().contains("<description>Fills forms.</description>"));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillSet {
    skills: Vec<Skill>,
    warnings: Vec<SkillWarning>,
}

impl SkillSet {
    /// Loads the skills of several directories, with the sources `dir:0`, `dir:1`, and so on. If two skills share a name,
    /// the later one wins. A missing directory has no skills.
    pub fn load<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> Self {
        let mut set = Self::default();
        for (number, directory) in directories.into_iter().enumerate() {
            set.merge(Self::load_dir(directory, &format!("dir:{number}")));
        }
        set
    }

    /// Loads the skills of one directory of any owner. Links below it are followed unless they lead out of it.
    pub fn load_dir(directory: impl AsRef<Path>, source: &str) -> Self {
        let directory = directory.as_ref();
        match Workspace::open(directory) {
            Ok(workspace) => Self::load_in(&workspace, ".", source),
            Err(FileError::NotFound { .. }) => Self::default(),
            Err(error) => Self::default().with_warning(directory.to_owned(), error.to_string()),
        }
    }

    /// Loads the skills of a directory of `workspace`, through its handle: no link leads out of the workspace.
    pub fn load_in(workspace: &Workspace, directory: &str, source: &str) -> Self {
        let set = Self::default();
        let root = workspace.path().join(directory.trim_start_matches("./"));
        let root = if directory == "." { workspace.path().to_owned() } else { root };
        let (entries, more) = match workspace.list(directory, MAX_ENTRIES) {
            Ok(listed) => listed,
            Err(FileError::NotFound { .. } | FileError::NotADirectory(_)) => return set,
            Err(error) => return set.with_warning(root, error.to_string()),
        };
        let mut set = if more {
            set.with_warning(
                root.clone(),
                format!("too many entries; only the first {MAX_ENTRIES} were examined"),
            )
        } else {
            set
        };
        for entry in entries {
            let Some(name) = entry.name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            if !matches!(entry.kind, EntryKind::Directory | EntryKind::Link) {
                continue;
            }
            let file_path = root.join(name).join(SKILL_FILE);
            let found = match workspace.read(&format!("{directory}/{name}/{SKILL_FILE}"), MAX_FILE_BYTES) {
                Ok(content) => Some(String::from_utf8_lossy(&content.bytes).into_owned()),
                Err(FileError::NotFound { .. } | FileError::NotADirectory(_)) => None,
                Err(error) => {
                    set = set.with_warning(file_path.clone(), error.to_string());
                    None
                }
            };
            if let Some(text) = found {
                set.add(name, &text, file_path, source);
            }
        }
        set.skills.sort_by(|one, other| one.name.cmp(&other.name));
        set
    }

    /// Adds the skills of `other`. If two skills share a name, the one of `other` wins.
    pub fn merge(&mut self, other: Self) {
        self.skills.retain(|skill| other.skills.iter().all(|newer| newer.name != skill.name));
        self.skills.extend(other.skills);
        self.skills.sort_by(|one, another| one.name.cmp(&another.name));
        self.warnings.extend(other.warnings);
    }

    /// The skills, sorted by name.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// The problems found while loading.
    pub fn warnings(&self) -> &[SkillWarning] {
        &self.warnings
    }

    /// Puts the skills of a plugin under its name: `plugin:skill`.
    #[must_use]
    pub fn of_plugin(mut self, plugin: &str) -> Self {
        for skill in &mut self.skills {
            skill.name = format!("{plugin}:{}", skill.name);
        }
        self
    }

    /// Formats the index for a system prompt; empty if there is nothing to list. Leaves out skills for certain files.
    pub fn format_for_prompt(&self) -> String {
        index::format(self.skills.iter().filter(|skill| skill.paths.is_empty()))
    }

    /// Formats the index of the skills that are about certain files, as far as `is_about` selects them by their globs.
    pub fn format_for_paths(&self, is_about: impl Fn(&Skill) -> bool) -> String {
        index::format(self.skills.iter().filter(|skill| !skill.paths.is_empty() && is_about(skill)))
    }

    fn with_warning(mut self, path: PathBuf, problem: String) -> Self {
        self.warnings.push(SkillWarning { path, problem });
        self
    }

    fn add(&mut self, folder: &str, text: &str, file_path: PathBuf, source: &str) {
        let front = FrontMatter::of(text);
        let mut warn = |problem: String| {
            self.warnings.push(SkillWarning { path: file_path.clone(), problem });
        };
        let Some(description) = front.get("description").filter(|description| !description.is_empty()) else {
            return warn(
                "missing description; skill skipped. hint: add `description:` to its front matter".to_owned(),
            );
        };
        let name = front.get("name").filter(|name| !name.is_empty());
        let name = name.map_or_else(|| folder.to_owned(), str::to_owned);
        if name != folder {
            warn(format!(
                "the name `{name}` differs from the directory name `{folder}`; other programs require them to match"
            ));
        }
        if !is_standard_name(&name) {
            warn(format!(
                "the name `{name}` is not valid: the standard requires 1 to {MAX_NAME_CHARS} lowercase letters, digits and single hyphens"
            ));
        }
        if description.chars().count() > MAX_DESCRIPTION_CHARS {
            warn(format!("the description is longer than {MAX_DESCRIPTION_CHARS} characters"));
        }
        if self.skills.iter().any(|known| known.name == name) {
            return warn(format!(
                "another skill in the same directory is also named `{name}`; this one is skipped"
            ));
        }
        let base_dir = file_path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let is_listed = front.get("disable-model-invocation") != Some("true");
        let (description, source) = (description.to_owned(), source.to_owned());
        let (paths, model) = (front.list("paths"), front.model().map(str::to_owned));
        let is_forked = front.get("context").map(str::trim) == Some("fork");
        let agent = front.get("agent").map(str::trim).filter(|agent| !agent.is_empty()).map(str::to_owned);
        self.skills.push(Skill {
            name,
            description,
            file_path,
            base_dir,
            source,
            is_listed,
            paths,
            is_forked,
            agent,
            model,
        });
    }
}

fn is_standard_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(fits) && !hyphens
}

#[cfg(test)]
mod tests;
