//! A case of the corpus, read from the text that holds it.
//!
//! Owns the format: `== a name`, lines `@word value`, then the program. A program that is told to be hostile may say
//! `ESCAPED`, where what it tries leaves no trace outside; everything else is seen from outside.

/// One program and what is expected of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    /// What it attempts, or for a control: what works.
    pub(super) name: String,
    /// The file it is from.
    pub(super) family: &'static str,
    /// The program; one that comes second, in a sandbox of its own, after a line `-- then`.
    pub(super) programs: Vec<String>,
    pub(super) language: Language,
    /// It must work, and print this.
    pub(super) prints: Option<String>,
    /// It gets out where there is no sandbox.
    pub(super) bare: bool,
    /// Only for this user: `root` or `nobody`.
    pub(super) only: Option<String>,
    /// Not a case of this backend; the reason stands beside it in the file.
    pub(super) not: Option<String>,
    /// Words about the workspace and the policy that it wants.
    pub(super) with: Vec<String>,
    /// Its working directory; the workspace when there is none.
    pub(super) directory: Option<String>,
    /// Rules and words that denials must name.
    pub(super) denies: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Language {
    #[default]
    Bash,
    Python,
}

/// The corpus, by family.
const FAMILIES: &[(&str, &str)] = &[
    ("protected", include_str!("cases/protected.txt")),
    ("outside", include_str!("cases/outside.txt")),
    ("network", include_str!("cases/network.txt")),
    ("processes", include_str!("cases/processes.txt")),
    ("kernel", include_str!("cases/kernel.txt")),
    ("controls", include_str!("cases/controls.txt")),
];

/// What Python programs begin with.
const PRELUDE: &str = include_str!("cases/prelude.py");

/// All cases, in order.
pub(super) fn all() -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (family, text) in FAMILIES {
        for part in text.split("\n== ").skip(1) {
            cases.push(parse(family, part)?);
        }
    }
    Ok(cases)
}

fn parse(family: &'static str, text: &str) -> Result<Case, String> {
    let (name, rest) = text.split_once('\n').ok_or_else(|| format!("{text}: a case without a program"))?;
    let mut case = Case { name: name.trim().to_owned(), family, ..Case::default() };
    let mut program = String::new();
    for line in rest.lines() {
        let Some(words) = line.strip_prefix('@') else {
            program.push_str(line);
            program.push('\n');
            continue;
        };
        let (word, value) = words.split_once(' ').unwrap_or((words, ""));
        match word {
            "python" => case.language = Language::Python,
            "prints" => case.prints = Some(value.to_owned()),
            "bare" => case.bare = true,
            "only" => case.only = Some(value.to_owned()),
            "not" => case.not = value.split(':').next().map(str::to_owned),
            "with" => case.with.extend(value.split(' ').map(str::to_owned)),
            "directory" => case.directory = Some(value.to_owned()),
            "denies" => {
                let (rule, what) = value.split_once(' ').unwrap_or((value, ""));
                case.denies.push((rule.to_owned(), what.to_owned()));
            }
            other => return Err(format!("{name}: there is no word `@{other}`")),
        }
    }
    let prelude = if case.language == Language::Python { PRELUDE } else { "" };
    case.programs = program.split("-- then\n").map(|program| format!("{prelude}{program}")).collect();
    Ok(case)
}

impl Case {
    /// True when it is a case for this backend and user.
    pub(super) fn is_for(&self, backend: &str, user: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == user)
            && self.not.as_deref().is_none_or(|not| not != backend)
    }

    /// True when the workspace or the policy is to be like this.
    pub(super) fn wants(&self, word: &str) -> bool {
        self.with.iter().any(|with| with == word)
    }
}
