//! Generates texts of nine kinds from templates and a seed: code in five languages, prose, JSON, Chinese,
//! Japanese and Korean, and a mixture.
//!
//! The same seed generates the same texts.

use lariat_test::SeededRandom;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rust,
    Python,
    JavaScript,
    Go,
    C,
    Prose,
    Json,
    Cjk,
    Mixed,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Rust,
        Self::Python,
        Self::JavaScript,
        Self::Go,
        Self::C,
        Self::Prose,
        Self::Json,
        Self::Cjk,
        Self::Mixed,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Go => "go",
            Self::C => "c",
            Self::Prose => "prose",
            Self::Json => "json",
            Self::Cjk => "cjk",
            Self::Mixed => "mixed",
        }
    }

    const fn templates(self) -> &'static [&'static str] {
        match self {
            Self::Rust => super::templates::RUST,
            Self::Python => super::templates::PYTHON,
            Self::JavaScript => super::templates::JAVASCRIPT,
            Self::Go => super::templates::GO,
            Self::C => super::templates::C,
            Self::Prose => super::templates::PROSE,
            Self::Json => super::templates::JSON,
            Self::Cjk => super::templates::CJK,
            Self::Mixed => &[],
        }
    }

    /// A text of about this many bytes.
    pub(crate) fn text(self, bytes: usize, random: &mut SeededRandom) -> String {
        let mut text = String::with_capacity(bytes + 1_024);
        while text.len() < bytes {
            let kind = match self {
                Self::Mixed => {
                    Self::ALL.get(random.index(Self::ALL.len() - 1)).copied().unwrap_or(Self::Prose)
                }
                kind => kind,
            };
            if let Some(template) = random.pick(kind.templates()) {
                fill(template, random, &mut text);
            }
        }
        text
    }
}

/// Replaces each `⟨kind⟩` by random words.
fn fill(template: &str, random: &mut SeededRandom, text: &mut String) {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('⟨') {
        text.push_str(before);
        let Some((kind, after)) = after.split_once('⟩') else { break };
        word(kind, random, text);
        rest = after;
    }
    text.push_str(rest);
}

fn word(kind: &str, random: &mut SeededRandom, text: &mut String) {
    let mut one = |words: &'static str| -> &'static str {
        let words: Vec<&str> = words.split(' ').collect();
        words.get(random.index(words.len())).copied().unwrap_or_default()
    };
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    };
    let made = match kind {
        "n" => one(super::templates::NOUNS).to_owned(),
        "v" => one(super::templates::VERBS).to_owned(),
        "a" => one(super::templates::ADJECTIVES).to_owned(),
        "N" => capital(one(super::templates::NOUNS)),
        "s" => format!("{}_{}", one(super::templates::ADJECTIVES), one(super::templates::NOUNS)),
        "c" => format!("{}{}", one(super::templates::VERBS), capital(one(super::templates::NOUNS))),
        "P" => {
            format!("{}{}", capital(one(super::templates::ADJECTIVES)), capital(one(super::templates::NOUNS)))
        }
        "zh" => one(super::templates::CHINESE).to_owned(),
        "ja" => one(super::templates::JAPANESE).to_owned(),
        "ko" => one(super::templates::KOREAN).to_owned(),
        "d" => random.below(100).to_string(),
        "D" => random.below(10_000_000).to_string(),
        "f" => format!("{}.{}", random.below(1_000), random.below(1_000)),
        "x" => format!("{:016x}", random.bits()),
        _ => String::new(),
    };
    text.push_str(&made);
}
