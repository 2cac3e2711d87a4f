//! Matches `Bash(...)` rules with the commands of a script.
//!
//! A deny or ask rule sees a command in every spelling: with and without wrappers, variables and the directory of the
//! program, and as written. An allow rule sees one spelling and must cover the whole command. `judge` decides whether every
//! command is covered.

use std::borrow::Cow;

use crate::program::{
    base, is_broad, is_builtin, is_find_action, is_safe_variable, is_transparent, needs_exact_rule,
    options_before_subcommand, takes_words, writes,
};
use crate::read_only::is_listed;
use crate::shell::{Command, Word};
use crate::wildcard::Wildcard;

/// The pattern of a command rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    whole: Wildcard,
    /// For a trailing ` *`: the pattern without it, so that the bare command matches.
    bare: Option<Wildcard>,
    /// The part before the first `*` is enough to run code: `python *`, `docker exec web *`.
    runs: bool,
}

impl CommandPattern {
    /// Parses a pattern. `*` may stand anywhere; a trailing ` *` or `:*` also matches nothing at all.
    pub(crate) fn new(text: &str) -> Self {
        match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(start) if !start.is_empty() => {
                let bare = Some(Wildcard::new(start));
                Self { whole: Wildcard::new(&format!("{start} *")), bare, runs: runs(start) }
            }
            _ => Self { whole: Wildcard::new(text), bare: None, runs: runs(text) },
        }
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.whole.matches(text) || self.bare.as_ref().is_some_and(|bare| bare.matches(text))
    }

    fn is_literal(&self) -> bool {
        self.whole.is_literal()
    }

    /// Whether its first word is exactly this program.
    fn names(&self, program: &str) -> bool {
        let rest = self.whole.start().strip_prefix(program);
        rest.is_some_and(|rest| rest.starts_with(' ') || (rest.is_empty() && self.is_literal()))
    }
}

/// Whether the words before the first `*` of a pattern run code, whatever follows.
fn runs(pattern: &str) -> bool {
    let start = pattern.split('*').next().unwrap_or_default();
    let words: Vec<Word> =
        start.split_whitespace().map(|word| Word { text: word.to_owned(), is_known: true }).collect();
    let command = Command { words, assignments: Vec::new(), wrappers: Vec::new(), place: 0..0 };
    !command.words.is_empty() && command.begins_to_run()
}

/// Returns every spelling of a command that a deny or ask rule may name.
pub(crate) fn spellings(command: &Command, script: &str) -> Vec<String> {
    let mut spellings = Vec::with_capacity(4);
    let Some(program) = command.words.first() else {
        return source_text(command, script).into_iter().map(str::to_owned).collect();
    };
    let mut plain = join_words(&command.words, |word| Cow::Borrowed(&word.text));
    plain.truncate(plain.trim_end().len());
    let skipped =
        options_before_subcommand(&program.text, rest(&command.words).map(|word| word.text.as_str()));
    if skipped > 0 {
        let kept = command.words.iter().skip(1 + skipped).map(|word| word.text.as_str());
        let direct: Vec<&str> = std::iter::once(base(&program.text)).chain(kept).collect();
        spellings.push(direct.join(" "));
    }
    if let Some(named) = without_directory(&plain, &program.text) {
        spellings.push(named);
    }
    for index in 0..command.wrappers.len() {
        let wrappers = command.wrappers.get(index..).unwrap_or_default();
        let whole = format!("{} {plain}", wrappers.join(" "));
        let first = whole.split(' ').next().unwrap_or_default().to_owned();
        spellings.extend(without_directory(&whole, &first));
        spellings.push(whole);
    }
    spellings.extend(source_text(command, script).filter(|written| *written != plain).map(str::to_owned));
    spellings.push(plain);
    spellings
}

/// Maximum words of a command that are examined for a command among its arguments.
const INNER: usize = 64;

/// Returns what a command that runs its arguments may run, as far as its words tell: everything from each word on.
pub(crate) fn inner_spellings(command: &Command) -> Vec<String> {
    if !may_run_its_words(command) {
        return Vec::new();
    }
    // An unknown wrapper receives a command word by word; a text with blanks is only an argument.
    let runs_texts = command.runs_its_arguments();
    let words: Vec<&str> = rest(&command.words).take(INNER).map(|word| word.text.as_str()).collect();
    let mut spellings = Vec::new();
    for (index, first) in words.iter().enumerate() {
        if !runs_texts && first.contains(' ') {
            continue;
        }
        let inner = words.get(index..).unwrap_or_default().join(" ");
        // `--exec='rm x'`
        spellings.extend(inner.split_once('=').map(|(_, value)| value.trim_start_matches('!').to_owned()));
        spellings.extend(without_directory(&inner, first));
        spellings.push(inner);
    }
    spellings
}

/// Whether a command runs its arguments, or its program is unknown and may be a wrapper.
pub(crate) fn may_run_its_words(command: &Command) -> bool {
    let is_known = |program: &str| {
        is_listed(program) || takes_words(program) || writes(program).is_some() || is_builtin(program)
    };
    command.runs_its_arguments()
        || !(command.is_in_a_table() || is_broad(command) || command.program().is_some_and(is_known))
}

fn without_directory(whole: &str, program: &str) -> Option<String> {
    let name = base(program);
    (name != program && !name.is_empty())
        .then(|| format!("{name}{}", whole.strip_prefix(program).unwrap_or_default()))
}

fn source_text<'a>(command: &Command, script: &'a str) -> Option<&'a str> {
    script.get(command.place.clone()).map(str::trim).filter(|text| !text.is_empty())
}

fn rest(words: &[Word]) -> impl Iterator<Item = &Word> {
    words.iter().skip(1)
}

fn join_words<'a>(words: &'a [Word], text: impl Fn(&'a Word) -> Cow<'a, str>) -> String {
    let mut whole = String::with_capacity(64);
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            whole.push(' ');
        }
        whole.push_str(&text(word));
    }
    whole
}

/// A command as an allow rule sees it.
pub(crate) struct CoverageSearch {
    /// From the first wrapper that rules do not look through.
    text: String,
    /// As written; only if there are no wrappers and no variables.
    written: Option<String>,
    /// The first word.
    program: String,
    kind: WordKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Plain,
    /// Only by a rule that starts with its name.
    ByName,
    /// Only by a rule that starts with what makes it run code.
    ByCode,
    /// Only by a rule without `*`.
    Exact,
}

impl CoverageSearch {
    /// `None` if no rule can allow it: its program is unknown, or a variable changes what it does.
    pub(crate) fn new(command: &Command, script: &str) -> Option<Self> {
        if !command.words.first().is_some_and(|program| program.is_known && !program.text.is_empty()) {
            return None;
        }
        if !command.assignments.iter().all(|assignment| is_safe_variable(&assignment.name)) {
            return None;
        }
        let shown = command.wrappers.iter().skip_while(|wrapper| is_transparent(wrapper));
        let shown: Vec<&str> = shown.map(String::as_str).collect();
        let words = join_words(&command.words, quote);
        let text = if shown.is_empty() { words } else { format!("{} {words}", shown.join(" ")) };
        let program = text.split(' ').next().unwrap_or_default().to_owned();
        let plain = command.wrappers.is_empty() && command.assignments.is_empty();
        let written = plain.then(|| source_text(command, script)).flatten().map(str::to_owned);
        let kind = kind(command, &shown);
        Some(Self { text, written, program, kind })
    }

    /// Whether a rule allows it.
    pub(crate) fn is_covered_by(&self, pattern: &CommandPattern) -> bool {
        let fits = pattern.matches(&self.text)
            || self.written.as_deref().is_some_and(|written| pattern.matches(written));
        fits && (pattern.is_literal()
            || match self.kind {
                WordKind::Plain => true,
                WordKind::ByName => pattern.names(&self.program),
                WordKind::ByCode => pattern.names(&self.program) && pattern.runs,
                WordKind::Exact => false,
            })
    }

    /// The text that a rule must match.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether only a rule without `*` can allow it.
    pub(crate) fn is_exact(&self) -> bool {
        self.kind == WordKind::Exact
    }
}

fn kind(command: &Command, shown: &[&str]) -> WordKind {
    let program = command.words.first().map_or("", |word| word.text.as_str());
    let never = |text: &str| needs_exact_rule(text.split(' ').next().unwrap_or_default());
    let acts = base(program) == "find"
        && rest(&command.words).any(|word| is_find_action(&word.text) || word.may_be_option());
    let evaluates = matches!(base(program), "make" | "gmake") && rest(&command.words).any(is_makefile);
    if acts || evaluates || needs_exact_rule(program) || shown.iter().any(|wrapper| never(wrapper)) {
        WordKind::Exact
    } else if command.runs_its_arguments() {
        WordKind::ByCode
    } else if !shown.is_empty() || is_broad(command) {
        WordKind::ByName
    } else {
        WordKind::Plain
    }
}

/// Whether an argument of `make` is code itself, not a target of the project's makefile.
fn is_makefile(word: &Word) -> bool {
    let text = word.text.as_str();
    let in_a_row = text.starts_with('-') && !text.starts_with("--") && text.contains('E');
    let names = ["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS"];
    let sets = text
        .split_once('=')
        .is_some_and(|(name, _)| names.contains(&name.trim_end_matches([':', '+', '?', '!'])));
    in_a_row || text.starts_with("--ev") || sets || word.may_be_option()
}

/// Spells a word as in a rule: quoted if its end would be unclear otherwise.
fn quote(word: &Word) -> Cow<'_, str> {
    let is_plain =
        !word.text.is_empty() && !word.text.contains(|c: char| c.is_whitespace() || c == '\'' || c == '"');
    if !word.is_known || is_plain {
        Cow::Borrowed(&word.text)
    } else {
        Cow::Owned(format!("'{}'", word.text.replace('\'', r"'\''")))
    }
}
