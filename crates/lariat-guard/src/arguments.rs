//! Reads the arguments of a command against a list of the options it may have.
//!
//! Handles combined short options, attached and separate values, values that are paths, and `--`. An argument that is not
//! on the list, or that could expand to an option, makes the whole result `None`, so that no operand is mistaken for
//! something else.

use crate::shell::Word;

/// The options that a command may have.
///
/// `short` lists letters; `long` lists names separated by blanks. A mark after an option says what it takes: `:` or `=` a
/// value, `?` a value that must be attached, `@` a path, `==` two values, `=@` a value and a path. `#` stands for any digit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllowedOptions {
    pub(crate) short: &'static [&'static str],
    pub(crate) long: &'static [&'static str],
    /// An unknown word may turn out to be an option: no option of this command does any harm.
    pub(crate) is_harmless_with_any_option: bool,
}

/// The arguments of a command, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    /// Words that are not options.
    pub(crate) operands: Vec<Word>,
    /// Values of options that are paths.
    pub(crate) paths: Vec<Word>,
    /// The options, as `-r` and `--recursive`, without their values.
    options: Vec<String>,
}

impl Arguments {
    /// Whether the command has one of these options.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(&option.as_str()))
    }
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionValue {
    Nothing,
    Value,
    /// A value, only if it is attached.
    Optional,
    Path,
    TwoValues,
    ValueAndPath,
}

impl AllowedOptions {
    /// Reads the words after a program. Returns `None` if one of them is not on the list.
    pub(crate) fn read(&self, words: &[Word]) -> Option<Arguments> {
        let mut found = Arguments::default();
        let mut rest = words.iter();
        let mut options_end = false;
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            let is_dashed = text.trim_start_matches(['"', '\'']).starts_with('-') && text.len() > 1;
            if options_end || (!is_dashed && (self.is_harmless_with_any_option || !word.may_be_option())) {
                found.operands.push(word.clone());
            } else if !word.is_known {
                return None;
            } else if text == "--" {
                options_end = true;
            } else if let Some(long) = text.strip_prefix("--") {
                self.long(long, &mut rest, &mut found)?;
            } else if let Some(letters) = text.strip_prefix('-') {
                self.short(letters, &mut rest, &mut found)?;
            } else {
                found.operands.push(word.clone());
            }
        }
        Some(found)
    }

    fn long<'a>(
        &self,
        written: &str,
        rest: &mut impl Iterator<Item = &'a Word>,
        found: &mut Arguments,
    ) -> Option<()> {
        let (name, attached) = match written.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (written, None),
        };
        let takes = self.long.iter().flat_map(|names| names.split(' ')).find_map(|listed| {
            let marks = listed.strip_prefix(name)?;
            match marks {
                "" => Some(OptionValue::Nothing),
                "=" => Some(OptionValue::Value),
                "?" => Some(OptionValue::Optional),
                "@" => Some(OptionValue::Path),
                "==" => Some(OptionValue::TwoValues),
                "=@" => Some(OptionValue::ValueAndPath),
                _ => None,
            }
        })?;
        found.options.push(format!("--{name}"));
        let attached = attached.map(known_word);
        match takes {
            OptionValue::Nothing => attached.is_none().then_some(()),
            OptionValue::Optional => Some(()),
            OptionValue::Value => attached.or_else(|| next_value(rest)).map(drop),
            OptionValue::Path => {
                let path = attached.or_else(|| next_value(rest))?;
                found.paths.push(path);
                Some(())
            }
            OptionValue::TwoValues | OptionValue::ValueAndPath => {
                next_value(rest)?;
                let second = next_value(rest)?;
                if takes == OptionValue::ValueAndPath {
                    found.paths.push(second);
                }
                attached.is_none().then_some(())
            }
        }
    }

    fn short<'a>(
        &self,
        letters: &str,
        rest: &mut impl Iterator<Item = &'a Word>,
        found: &mut Arguments,
    ) -> Option<()> {
        for (at, letter) in letters.char_indices() {
            let after = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let takes = self.letter(letter)?;
            found.options.push(format!("-{letter}"));
            let value =
                |rest: &mut _| if after.is_empty() { next_value(rest) } else { Some(known_word(after)) };
            match takes {
                OptionValue::Nothing => continue,
                OptionValue::Path => found.paths.push(value(rest)?),
                OptionValue::Optional => {}
                _ => drop(value(rest)?),
            }
            return Some(());
        }
        Some(())
    }

    fn letter(&self, letter: char) -> Option<OptionValue> {
        if !letter.is_ascii_alphanumeric() && letter != '.' {
            return None;
        }
        if letter.is_ascii_digit() && self.short.iter().any(|letters| letters.contains('#')) {
            return Some(OptionValue::Nothing);
        }
        self.short.iter().find_map(|letters| {
            let (_, after) = letters.split_once(letter)?;
            Some(match after.chars().next() {
                Some(':') => OptionValue::Value,
                Some('?') => OptionValue::Optional,
                Some('@') => OptionValue::Path,
                _ => OptionValue::Nothing,
            })
        })
    }
}

fn known_word(text: &str) -> Word {
    Word { text: text.to_owned(), is_known: true }
}

/// Takes the next word as a value; fails if the word may expand to several.
fn next_value<'a>(rest: &mut impl Iterator<Item = &'a Word>) -> Option<Word> {
    rest.next().filter(|word| word.is_known || !word.may_become_several()).cloned()
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
