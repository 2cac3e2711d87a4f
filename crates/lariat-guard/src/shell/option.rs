//! Compares a word with the options of a program that matter to the analysis.
//!
//! A table names an option once; this module finds every spelling: in full, abbreviated to any length, with an attached
//! value, combined with other letters. The guesses err on the wide side: an abbreviation that could be two options is both.

use super::Word;

/// How a program parses its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `-x`, combined letters, and `--long`, which may be abbreviated.
    Gnu,
    /// The same, and the first word may be letters without a dash.
    Tar,
    /// One dash or two before a full name: `-exec`, `--exec`. An entry that ends in `*` is every name with that prefix.
    Whole,
    /// Any number of dashes before a name that may be abbreviated.
    Dashes,
}

/// Some options of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The options in full, separated by blanks.
    pub(crate) listed: &'static str,
    /// Letters that take a value: what follows them in the word is the value.
    pub(crate) values: &'static str,
    /// Other options that are a prefix of a listed one.
    pub(crate) others: &'static str,
    pub(crate) style: Style,
}

impl Options {
    pub(crate) const fn new(listed: &'static str, values: &'static str) -> Self {
        Self { listed, values, others: "", style: Style::Gnu }
    }

    pub(crate) const fn with_others(mut self, others: &'static str) -> Self {
        self.others = others;
        self
    }

    pub(crate) const fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Whether one of the arguments of a program is a listed option.
    pub(crate) fn are_in(&self, arguments: &[Word]) -> bool {
        let first = arguments.first().map(|word| word.text.as_str());
        let bare = first.filter(|word| self.style == Style::Tar && !word.starts_with('-'));
        bare.is_some_and(|letters| letters.chars().any(|letter| self.has_letter(letter)))
            || arguments.iter().any(|word| self.has(&word.text))
    }

    /// Whether a word is, or could be parsed as, a listed option.
    pub(crate) fn has(&self, word: &str) -> bool {
        let Some(after) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else { return false };
        let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
        match (self.style, after.strip_prefix('-')) {
            (Style::Whole, _) => self.names().any(|listed| match listed.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == listed,
            }),
            (Style::Dashes, None) if name.chars().count() > 1 => self.is_start(name),
            (_, Some(_)) => self.is_start(name),
            _ => {
                let is_value = |letter: &char| self.values.contains(*letter);
                let end = after.find(|letter| is_value(&letter)).map_or(after.len(), |at| at + 1);
                after.char_indices().any(|(at, letter)| at < end && self.has_letter(letter))
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.listed.split(' ').map(|listed| listed.trim_start_matches('-')).filter(|name| !name.is_empty())
    }

    /// Whether a name without dashes is a prefix of a listed long option.
    fn is_start(&self, name: &str) -> bool {
        let is_other = || self.others.split(' ').any(|other| other.trim_start_matches('-') == name);
        let mut long = self.listed.split(' ').filter_map(|listed| listed.strip_prefix("--"));
        !name.is_empty() && long.any(|listed| listed.starts_with(name)) && !is_other()
    }

    fn has_letter(&self, letter: char) -> bool {
        let mut short = self.listed.split(' ').filter_map(|listed| listed.strip_prefix('-'));
        short.any(|listed| listed.strip_prefix(letter).is_some_and(str::is_empty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAR: Options = Options::new("-I -F --to-command --checkpoint-action", "fCbT")
        .with_others("--checkpoint")
        .style(Style::Tar);

    #[test]
    fn finds_every_spelling_of_a_listed_option() {
        for word in [
            "-I",
            "-Ix",
            "-cIf",
            "--to-command",
            "--to-command=x",
            "--to-c",
            "--checkpoint-",
            "--checkpoint-act=exec=x",
        ] {
            assert!(TAR.has(word), "{word}");
        }
        for word in [
            "-c",
            "-cf",
            "-fI",
            "--checkpoint",
            "--checkpoint=1",
            "--file",
            "I",
            "-",
            "--",
            "x=-I",
            "--to-commands",
        ] {
            assert!(!TAR.has(word), "{word}");
        }
    }

    #[test]
    fn other_styles_have_other_spellings() {
        let npm = Options::new("--script-shell -c", "").style(Style::Dashes);
        for word in ["--script-shell", "-script-shell=x", "--script-shel", "--s", "-c"] {
            assert!(npm.has(word), "{word}");
        }
        assert!(!npm.has("--scripts") && !npm.has("--save"));
        let find = Options::new("-exec -fprint*", "").style(Style::Whole);
        assert!(find.has("-exec") && find.has("--exec") && find.has("-fprint0") && !find.has("-e"));
    }
}
