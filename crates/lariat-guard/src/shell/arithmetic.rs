//! Decides which arithmetic is harmless.
//!
//! Bash evaluates the *value* of a variable in arithmetic as an expression, and an expression may contain an array index
//! with a substitution in it: `x='a[$(rm y)]'; echo $((x))` runs `rm`. So arithmetic is accepted only if it uses numbers,
//! and variables that the script itself sets only to numbers.

use super::Doubt;
use super::parsed::RawCommand;

#[derive(Debug, Default)]
pub(super) struct ArithmeticNames<'a> {
    used: Vec<&'a str>,
    /// Set to something other than a number, or by something other than an assignment.
    not_numbers: Vec<&'a str>,
    /// Set to a number inside arithmetic.
    numbers: Vec<&'a str>,
}

/// Maximum names that are tracked; each is searched for in the whole text.
const MAX_NAMES: usize = 32;

/// Builtins that set variables to unknown values.
const SETTERS: &[&str] = &[
    "read",
    "mapfile",
    "readarray",
    "printf",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "getopts",
    "let",
    "eval",
];

impl<'a> ArithmeticNames<'a> {
    /// Records a name, or what follows a `$`, in arithmetic.
    pub(super) fn mark_used(&mut self, name: &'a str) {
        let is_special = matches!(name, "?" | "#" | "$" | "!");
        if !is_special && !is_number(name) && self.used.len() <= MAX_NAMES && !self.used.contains(&name) {
            self.used.push(name);
        }
    }

    pub(super) fn mark_not_number(&mut self, name: &'a str) {
        self.not_numbers.push(name);
    }

    /// Records an assignment inside arithmetic.
    pub(super) fn mark_assigned(&mut self, assignment: &'a str) {
        match assignment.split_once('=') {
            Some((name, value)) if is_number(value.trim()) => self.numbers.push(name.trim()),
            Some((name, _)) => self.not_numbers.push(name.trim()),
            None => self.not_numbers.push(assignment),
        }
    }

    /// Returns a doubt if arithmetic uses a variable that may be more than a number.
    pub(super) fn doubt(&self, commands: &[RawCommand<'_>]) -> Option<Doubt> {
        let has_setter = || {
            commands.iter().any(|command| command.words.iter().any(|word| SETTERS.contains(&word.as_ref())))
        };
        let is_spoiled = |name: &&&str| {
            let mut values = commands
                .iter()
                .flat_map(|command| &command.assignments)
                .filter_map(|assignment| assignment.strip_prefix(**name)?.strip_prefix('='))
                .peekable();
            let is_set = values.peek().is_some() || self.numbers.contains(*name);
            let is_number_always = is_set && values.all(|value| is_number(value) || is_computed(value));
            let is_appended = commands
                .iter()
                .flat_map(|command| &command.assignments)
                .any(|assignment| assignment.starts_with(&format!("{name}+=")));
            !is_number_always || is_appended || self.not_numbers.contains(*name) || has_setter()
        };
        if self.used.len() > MAX_NAMES {
            return Some(Doubt::Evaluated("arithmetic over many variables".to_owned()));
        }
        let name = self.used.iter().find(is_spoiled)?;
        Some(Doubt::Evaluated(format!("arithmetic over `{name}`")))
    }
}

/// A decimal number without a base prefix.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `$((...))` and nothing around it.
fn is_computed(text: &str) -> bool {
    text.strip_prefix("$((")
        .and_then(|rest| rest.strip_suffix("))"))
        .is_some_and(|inside| !inside.contains("))"))
}

/// `name[3]`, `name[@]` or `name[*]`.
pub(super) fn is_plain_subscript(text: &str) -> bool {
    let index = text.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    index.is_some_and(|index| matches!(index, "@" | "*") || is_number(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_and_wildcards_are_plain_subscripts() {
        for text in ["a[0]", "a[@]", "a[*]", "a[-1]"] {
            assert!(is_plain_subscript(text), "{text}");
        }
        for text in ["a[i]", "a[$(x)]", "a[$i]", "a[", "a"] {
            assert!(!is_plain_subscript(text), "{text}");
        }
    }
}
