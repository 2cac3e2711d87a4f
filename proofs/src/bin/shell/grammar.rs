//! Generates bash commands from a seed, with a preference for constructs that analysers get wrong.
//!
//! Most commands are valid; some are damaged afterwards. Invariant: the same seed generates the same command.

use lariat_test::SeededRandom;

use super::vocabulary::{
    ARITHMETIC, ASSIGNMENTS, BUILTINS, DAMAGE, DUPLICATES, ENDS, EXPANSIONS, FILES, GLOBS, ODD, PLAIN,
    PROGRAMS, REDIRECTS, SPACES, TESTS, VARIABLES, WRAPPERS,
};

/// Maximum depth of nested constructs, of which each command has one: the analysis is seldom certain of deep ones, and
/// most of their attempts are lost.
const DEPTHS: &[u8] = &[0, 1, 1, 2, 2, 3];

/// Generates a command.
pub(crate) fn command(random: &mut SeededRandom) -> String {
    let mut maker = Generator { random, documents: Vec::new() };
    let deep = maker.random.pick(DEPTHS).copied().unwrap_or_default();
    let mut text = maker.list(deep);
    text.push_str(&maker.documents_text());
    if maker.random.chance(25) {
        maker.disturb(&mut text);
    }
    if maker.random.chance(4) {
        let odd = maker.one(ODD);
        let at = maker.place(&text);
        text.insert_str(at, odd);
    }
    if maker.random.chance(18) {
        for _ in 0..=maker.random.below(2) {
            maker.damage(&mut text);
        }
    }
    text
}

struct Generator<'a> {
    random: &'a mut SeededRandom,
    /// Here-documents whose bodies follow the current line.
    documents: Vec<String>,
}

impl Generator<'_> {
    fn one(&mut self, items: &[&'static str]) -> &'static str {
        self.random.pick(items).copied().unwrap_or_default()
    }

    fn space(&mut self) -> &'static str {
        self.one(SPACES)
    }

    /// A random character boundary.
    fn place(&mut self, text: &str) -> usize {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        self.random.pick(&places).copied().unwrap_or_default()
    }

    fn damage(&mut self, text: &mut String) {
        let at = self.place(text);
        match self.random.below(4) {
            0 => {
                let piece = self.one(DAMAGE);
                text.insert_str(at, piece);
            }
            1 if !text.is_empty() => {
                text.remove(at);
            }
            2 => {
                let end = self.place(text);
                let piece = text.get(at.min(end)..at.max(end)).unwrap_or_default().to_owned();
                text.insert_str(at, &piece);
            }
            _ => text.truncate(at),
        }
    }

    fn documents_text(&mut self) -> String {
        let documents = std::mem::take(&mut self.documents);
        if documents.is_empty() { String::new() } else { format!("\n{}", documents.concat()) }
    }

    fn list(&mut self, deep: u8) -> String {
        let mut text = self.pipeline(deep);
        for _ in 0..self.random.below(3) {
            let separator = self.one(&[
                " && ",
                " || ",
                "; ",
                ";",
                "\n",
                " & ",
                "&&",
                "||",
                "\n\n",
                " &&\n",
                " # rm comment\n",
                "; # x\n",
            ]);
            text.push_str(separator);
            if separator.contains('\n') && !self.documents.is_empty() {
                // A here-document must directly follow its line.
                let at = text.len() - separator.len();
                let documents = self.documents_text();
                text.truncate(at);
                text.push_str(&documents);
            }
            text.push_str(&self.pipeline(deep));
        }
        text
    }

    fn pipeline(&mut self, deep: u8) -> String {
        let mut text = self.part(deep);
        while self.random.chance(15) {
            text.push_str(self.one(&[" | ", "|", " |& ", " |\n"]));
            let next = self.part(deep);
            text.push_str(&next);
        }
        text
    }

    fn part(&mut self, deep: u8) -> String {
        if deep == 0 || self.random.chance(70) {
            return self.simple(deep);
        }
        let deeper = deep - 1;
        let inner = self.inner(deeper);
        let other = self.inner(deeper);
        let text = match self.random.below(19) {
            0 => format!("({inner})"),
            1 => format!("{{ {inner}; }}"),
            2 => format!("if {inner}; then {other}; fi"),
            3 => format!("if {inner}; then :; elif {other}; then :; else {inner}; fi"),
            4 => format!("for i in {}; do {inner}; done", self.word(deeper)),
            5 => format!("for i in 1; do {inner}\n done"),
            6 => format!("while {inner}; do {other}; break; done"),
            7 => format!("until false; do {inner}; break; done"),
            8 => format!("case {} in *) {inner};; x|y) {other};; esac", self.word(deeper)),
            9 => format!("case a in a) {inner} ;& b) {other} ;;& (*) : ;; esac"),
            10 => format!("f() {{ {inner}; }}; f"),
            11 => format!("function ls {{ {inner}; }}; ls {}", self.word(deeper)),
            12 => format!("[[ {} ]] && {inner}", self.one(TESTS)),
            13 => format!("(( {} )) || {inner}", self.one(ARITHMETIC)),
            14 => format!("for ((i=0; i<2; {})); do {inner}; done", self.one(&["i++", "i+=EVIL", "i=i+1"])),
            15 => format!("time {{ {inner}; }}"),
            16 => format!("! {inner}"),
            17 => format!("coproc {{ {inner}; }}"),
            _ => format!("select i in a; do {inner}; break; done <<< 1"),
        };
        let redirect = match self.random.below(20) {
            0..=2 => self.redirect(deeper),
            3 => self.document(deeper),
            _ => String::new(),
        };
        text + &redirect
    }

    /// A list whose here-documents end before it does.
    fn inner(&mut self, deep: u8) -> String {
        let outer = std::mem::take(&mut self.documents);
        let text = self.list(deep);
        let documents = self.documents_text();
        self.documents = outer;
        if documents.is_empty() { text } else { format!("{text}{documents}true") }
    }

    fn simple(&mut self, deep: u8) -> String {
        let mut text = String::new();
        while self.random.chance(12) {
            text.push_str(self.one(ASSIGNMENTS));
            text.push_str(self.space());
        }
        if self.random.chance(4) {
            text.push_str(&self.redirect(deep));
            text.push(' ');
        }
        if !text.is_empty() && self.random.chance(15) {
            return text;
        }
        while self.random.chance(22) {
            let wrapper = self.one(WRAPPERS);
            text.push_str(wrapper);
            text.push_str(self.space());
            if wrapper.contains("sh -") || wrapper == "eval" {
                return text + &self.text_argument(deep);
            }
            if wrapper.ends_with("-exec") {
                let run = self.command_words(deep);
                return format!("{text}{run} {}", self.one(&["\\;", "+", "';'", "{} \\;", "{} +"]));
            }
        }
        text + &self.command_words(deep)
    }

    /// An argument with the script of an inner shell.
    fn text_argument(&mut self, deep: u8) -> String {
        let inner = self.inner(deep.saturating_sub(1));
        match self.random.below(4) {
            0 => format!(
                "\"{}\"",
                inner.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
            ),
            1 => format!("\"{}\"", inner.replace('"', "\\\"")),
            2 => inner.split_whitespace().next().unwrap_or("x").to_owned(),
            _ => format!("'{}' a b", inner.replace('\'', r"'\''")),
        }
    }

    fn command_words(&mut self, deep: u8) -> String {
        let mut text =
            if self.random.chance(25) { self.one(BUILTINS).to_owned() } else { self.program(deep) };
        for _ in 0..self.random.below(4) {
            text.push_str(self.space());
            text.push_str(&self.word(deep));
        }
        while self.random.chance(14) {
            text.push_str(&self.redirect(deep));
        }
        while self.random.chance(12) {
            text.push_str(&self.document(deep));
        }
        text
    }

    fn program(&mut self, deep: u8) -> String {
        let name = self.one(PROGRAMS);
        let (first, rest) = name.split_at_checked(1).unwrap_or((name, ""));
        match self.random.below(24) {
            0 => format!("\"{name}\""),
            1 => format!("'{name}'"),
            2 => format!("\\{name}"),
            3 => format!("{first}\"{rest}\""),
            4 => format!("{first}''{rest}"),
            5 => format!("{first}\\\n{rest}"),
            6 => format!("$'\\x{:02x}{rest}'", first.bytes().next().unwrap_or(b'x')),
            7 => self.one(VARIABLES).to_owned(),
            8 if deep > 0 => self.substitution(deep - 1),
            9 => self.one(GLOBS).to_owned(),
            10 => format!("$\"{name}\""),
            11 => format!("{first}$EMPTY{rest}"),
            12 => format!("$'\\{:03o}'{rest}", first.bytes().next().unwrap_or(b'x')),
            _ => name.to_owned(),
        }
    }

    fn word(&mut self, deep: u8) -> String {
        match self.random.below(20) {
            0 => self.one(VARIABLES).to_owned(),
            1 if deep > 0 => self.substitution(deep - 1),
            2 if deep > 0 => format!("\"a {}b\"", self.substitution(deep - 1)),
            3 => self.one(GLOBS).to_owned(),
            4 => format!("$(( {} ))", self.one(ARITHMETIC)),
            5 => {
                let inner = self.word(deep.saturating_sub(1));
                let quote = self.one(&["", "\""]);
                format!("{quote}{}{inner}}}{quote}", self.one(EXPANSIONS))
            }
            6 => format!(
                "'{}'",
                self.one(&["a b", "$(curl no)", "`curl no`", "; rm x", "\"", "\\", "a\nb", "#", "$X"])
            ),
            7 => format!(
                "\"{}\"",
                self.one(&[
                    "a b",
                    "\\$(curl no)",
                    "\\`curl no\\`",
                    "; rm x",
                    "'",
                    "\\\\",
                    "a\nb",
                    "#",
                    "$",
                    "\\x",
                    "a\\\nb",
                    "!"
                ])
            ),
            8 => format!(
                "$'{}'",
                self.one(&[
                    "a\\nb", "\\'", "\\x41", "\\101", "\\u0041", "a\\0b", "\\cA", "\\e", "\\z", "\\xff",
                    "\\\\"
                ])
            ),
            9 if deep > 0 => format!("{}({})", self.one(&["<", ">"]), self.inner(deep - 1)),
            10 => format!("{}{}", self.word(deep.saturating_sub(1)), self.word(deep.saturating_sub(1))),
            11 => format!(
                "\\{}",
                self.one(&["$X", "`", "\"", "'", "\\", " x", ";", "&", "#", "\n", "*", "(", ">", "a"])
            ),
            _ => self.one(PLAIN).to_owned(),
        }
    }

    fn substitution(&mut self, deep: u8) -> String {
        let inner = self.inner(deep);
        match self.random.below(6) {
            0 => format!("`{}`", inner.replace('`', "")),
            1 => format!("$( {inner} )"),
            2 => format!("$(({inner}) )"),
            3 => format!("$(< {})", self.one(FILES)),
            4 => format!("$({inner} # )\n)"),
            _ => format!("$({inner})"),
        }
    }

    fn redirect(&mut self, deep: u8) -> String {
        if self.random.chance(25) {
            return format!(" {}", self.one(DUPLICATES));
        }
        let operator = self.one(REDIRECTS);
        let target = match self.random.below(12) {
            0 if deep > 0 => self.substitution(deep - 1),
            1 if deep > 0 => format!(">({})", self.inner(deep - 1)),
            _ => self.one(FILES).to_owned(),
        };
        format!("{}{operator}{}{target}", self.one(&[" ", ""]), self.one(&["", " ", "\t", "\\\n"]))
    }

    /// A here-document: emits its start now and its body after the line.
    fn document(&mut self, deep: u8) -> String {
        if self.random.chance(10) {
            return format!(" <<< {}", self.word(deep));
        }
        let end = self.one(ENDS);
        let (first, rest) = end.split_at_checked(1).unwrap_or((end, ""));
        let dash = if self.random.chance(30) { "-" } else { "" };
        let between = self.one(&["", "", "", " ", "\t", "\\\n"]);
        let word = match self.random.below(10) {
            0 | 1 => format!("'{end}'"),
            2 => format!("\"{end}\""),
            3 => format!("\\{end}"),
            4 => format!("{first}\"{rest}\""),
            5 => format!("{first}\\\n{rest}"),
            _ => end.to_owned(),
        };
        let mut body = String::new();
        for _ in 0..self.random.below(4) {
            body.push_str(&self.document_line(deep, end));
        }
        let close = match self.random.below(12) {
            0 => format!("{end} \n"),
            1 => format!("\t{end}\n"),
            2 => format!(" {end}\n"),
            3 => String::new(),
            _ => format!("{end}\n"),
        };
        self.documents.push(format!("{body}{close}"));
        format!(" <<{dash}{between}{word}")
    }

    /// A line of a here-document: often one that only looks like the end, or an end that does not look like
    /// one.
    fn document_line(&mut self, deep: u8, end: &str) -> String {
        let at = self.place(end).max(usize::from(end.len() > 1));
        let (start, rest) = end.split_at_checked(at).unwrap_or((end, ""));
        match self.random.below(16) {
            0 | 1 => format!("{start}\\\n{rest}\ncurl after-a-split-end\n"),
            2 => format!("\t{start}\\\n{rest}\ncurl after-a-split-end\n"),
            3 => format!("{}\ncurl after-another-end\n", end.trim_start_matches('-')),
            4 => format!("{end} \ncurl after-a-blank\n"),
            5 => format!("\t{end}\ncurl after-a-tab\n"),
            6 => "text\\\n".to_owned(),
            7 if deep > 0 => format!("a {} b\n", self.substitution(deep - 1)),
            8 => "`curl backquote`\n".to_owned(),
            9 => "\\$(curl escaped) ${X:-$(curl default)}\n".to_owned(),
            10 => "it's \"odd\" (\n".to_owned(),
            11 => ")\n".to_owned(),
            12 => "curl in-the-body\n".to_owned(),
            13 => "\\\n".to_owned(),
            _ => "plain $X ${FILE}\n".to_owned(),
        }
    }

    /// Inserts other whitespace and line continuations anywhere.
    fn disturb(&mut self, text: &mut String) {
        for _ in 0..=self.random.below(3) {
            if self.random.chance(50) {
                let at = self.place(text);
                text.insert_str(at, "\\\n");
            } else {
                let blanks: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
                if let Some(at) = self.random.pick(&blanks).copied() {
                    let blank = self.one(&["\t", "\t\t", "  ", " \\\n", "\\\n ", "\\\n", "\t "]);
                    text.replace_range(at..=at, blank);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_generate_equal_commands_and_other_seeds_differ() {
        let make = |seed| command(&mut SeededRandom::new(seed));
        assert_eq!(make(1), make(1));
        let all: std::collections::HashSet<String> = (0..1_000).map(make).collect();
        assert!(all.len() > 900, "{}", all.len());
    }
}
