//! Parses the cases of the corpus.
//!
//! The format is `== a name`, lines `@word value`, then the program. A hostile program may print `ESCAPED` if
//! its attempt leaves no trace outside; everything else is detected from outside.

/// A program and its expected behaviour.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    /// What it attempts or, for a control, what must work.
    pub(super) name: String,
    /// The file that contains it.
    pub(super) family: &'static str,
    /// The program; a second one, with its own sandbox, follows after a line `-- then`.
    pub(super) programs: Vec<String>,
    pub(super) language: Language,
    /// Set for a control: it must work and print this.
    pub(super) prints: Option<String>,
    /// Whether it escapes when there is no sandbox.
    pub(super) bare: bool,
    /// Runs only as this user: `root` or `nobody`.
    pub(super) only: Option<String>,
    /// Backend that is known not to contain it; the file states the reason.
    pub(super) not: Option<String>,
    /// Properties of the workspace and the policy that it needs.
    pub(super) with: Vec<String>,
    /// Its working directory; the workspace by default.
    pub(super) directory: Option<String>,
    /// Rules and words that the denials must name.
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

/// Code at the start of every Python program.
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
            other => return Err(format!("{name}: unknown word `@{other}`")),
        }
    }
    let prelude = if case.language == Language::Python { PRELUDE } else { "" };
    case.programs = program.split("-- then\n").map(|program| format!("{prelude}{program}")).collect();
    Ok(case)
}

impl Case {
    /// Whether the case applies to this backend and user.
    pub(super) fn is_for(&self, backend: &str, user: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == user)
            && self.not.as_deref().is_none_or(|not| not != backend)
    }

    /// Whether the case needs this property of the workspace or the policy.
    pub(super) fn wants(&self, word: &str) -> bool {
        self.with.iter().any(|with| with == word)
    }
}
