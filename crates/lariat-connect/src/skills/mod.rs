//! Skills: folders with a `SKILL.md` that says what they are good for.
//!
//! Owns finding them and the index that a model sees. A body is never loaded here: a model that wants one reads the file.
//! Loading is lenient: what can be understood is taken, what is odd is a warning, and only a skill without a description
//! is left out. Invariant: nothing of a skill runs by being loaded, and no link leads out of the folder it is loaded from.

mod front_matter;
mod index;

use std::path::{Path, PathBuf};

use lariat_host::files::{FileError, Kind, Workspace};

pub use front_matter::FrontMatter;

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// Folders of one directory that are looked at.
const MOST: usize = 500;
/// Bytes of a `SKILL.md`; larger ones are no instructions.
const LARGEST: u64 = 1024 * 1024;
/// Characters of a name, by the standard.
const LONGEST_NAME: usize = 64;
/// Characters of a description, by the standard.
const LONGEST_DESCRIPTION: usize = 1_024;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// What it is good for, in a few sentences.
    pub description: String,
    /// Its `SKILL.md`.
    pub file_path: PathBuf,
    /// Its folder.
    pub base_dir: PathBuf,
    /// Where it is from: `dir:0`, `user`, `project`.
    pub source: String,
    /// Whether a model may choose it by itself; `disable-model-invocation` says otherwise.
    pub is_listed: bool,
}

/// Something odd about a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillWarning {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub problem: String,
}

/// Skills by name, in the order of their names.
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
    /// The skills of several directories, labelled `dir:0`, `dir:1`, …; of two with one name, the later counts. A
    /// directory that does not exist has none.
    pub fn load<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> Self {
        let mut set = Self::default();
        for (number, directory) in directories.into_iter().enumerate() {
            set.merge(Self::load_dir(directory, &format!("dir:{number}")));
        }
        set
    }

    /// The skills of one directory, whoever it belongs to: links beneath it are followed, none leads out of it.
    pub fn load_dir(directory: impl AsRef<Path>, source: &str) -> Self {
        let directory = directory.as_ref();
        match Workspace::open(directory) {
            Ok(workspace) => Self::load_in(&workspace, ".", source),
            Err(FileError::NotFound { .. }) => Self::default(),
            Err(error) => Self::default().warned(directory.to_owned(), error.to_string()),
        }
    }

    /// The skills of a directory of a workspace, through its handle: no link leads out of the workspace.
    pub fn load_in(workspace: &Workspace, directory: &str, source: &str) -> Self {
        let set = Self::default();
        let root = workspace.path().join(directory.trim_start_matches("./"));
        let root = if directory == "." { workspace.path().to_owned() } else { root };
        let (entries, more) = match workspace.list(directory, MOST) {
            Ok(listed) => listed,
            Err(FileError::NotFound { .. } | FileError::NotADirectory(_)) => return set,
            Err(error) => return set.warned(root, error.to_string()),
        };
        let mut set = if more {
            set.warned(root.clone(), format!("only {MOST} of its entries were looked at"))
        } else {
            set
        };
        for entry in entries {
            let Some(name) = entry.name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            if !matches!(entry.kind, Kind::Directory | Kind::Link) {
                continue;
            }
            let file_path = root.join(name).join(FILE);
            let found = match workspace.read(&format!("{directory}/{name}/{FILE}"), LARGEST) {
                Ok(content) => Some(String::from_utf8_lossy(&content.bytes).into_owned()),
                Err(FileError::NotFound { .. } | FileError::NotADirectory(_)) => None,
                Err(error) => {
                    set = set.warned(file_path.clone(), error.to_string());
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

    /// Takes in another set; of two with one name, the other's counts.
    pub fn merge(&mut self, other: Self) {
        self.skills.retain(|skill| other.skills.iter().all(|newer| newer.name != skill.name));
        self.skills.extend(other.skills);
        self.skills.sort_by(|one, another| one.name.cmp(&another.name));
        self.warnings.extend(other.warnings);
    }

    /// The skills, in the order of their names.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// What was odd.
    pub fn warnings(&self) -> &[SkillWarning] {
        &self.warnings
    }

    /// The index for a system prompt; empty when there is nothing to list.
    pub fn format_for_prompt(&self) -> String {
        index::format(&self.skills)
    }

    fn warned(mut self, path: PathBuf, problem: String) -> Self {
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
                "it has no description and is left out; add `description:` to its front matter".to_owned(),
            );
        };
        let name = front.get("name").filter(|name| !name.is_empty());
        let name = name.map_or_else(|| folder.to_owned(), str::to_owned);
        if name != folder {
            warn(format!(
                "its name is `{name}` and its folder `{folder}`; other programs want them to be the same"
            ));
        }
        if !is_plain(&name) {
            warn(format!(
                "`{name}` is no name by the standard: 1 to {LONGEST_NAME} lowercase letters, digits and single hyphens"
            ));
        }
        if description.chars().count() > LONGEST_DESCRIPTION {
            warn(format!("its description is longer than {LONGEST_DESCRIPTION} characters"));
        }
        if self.skills.iter().any(|known| known.name == name) {
            return warn(format!("there is another skill `{name}` beside it, which counts"));
        }
        let base_dir = file_path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let is_listed = front.get("disable-model-invocation") != Some("true");
        let (description, source) = (description.to_owned(), source.to_owned());
        self.skills.push(Skill { name, description, file_path, base_dir, source, is_listed });
    }
}

fn is_plain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) && !hyphens
}

#[cfg(test)]
#[path = "../skills_tests.rs"]
mod tests;
