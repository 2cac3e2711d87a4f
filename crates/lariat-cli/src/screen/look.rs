//! What the terminal can do, and how styles look on it.
//!
//! Owns the decision from facts (environment, settings, the terminal's size) that the caller read, and the table of
//! styles. Every escape sequence that reaches a terminal is written here, in `markdown` never, in `printer` only to redraw
//! the status line.
//! Invariant: what [`Look::paint`] adds, it takes back; text is expected to be neutralised already.

/// Columns, when nobody knows.
const COLUMNS: usize = 80;

/// What was found out about the terminal and wished for by the person.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts<'a> {
    /// Whether the output is a terminal.
    pub(crate) is_terminal: bool,
    /// Its columns.
    pub(crate) columns: Option<usize>,
    /// `NO_COLOR`.
    pub(crate) no_color: Option<&'a str>,
    /// `FORCE_COLOR`, or `CLICOLOR_FORCE`.
    pub(crate) force_color: Option<&'a str>,
    /// `TERM`.
    pub(crate) term: Option<&'a str>,
    /// The setting `ui.color`: `auto`, `always` or `never`.
    pub(crate) colour: &'a str,
    /// The setting `ui.links`.
    pub(crate) links: bool,
    /// The first of `LC_ALL`, `LC_CTYPE` and `LANG` that says something.
    pub(crate) locale: Option<&'a str>,
}

/// What the output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Colours and weights.
    pub(crate) colour: bool,
    /// Links that can be clicked (OSC 8).
    pub(crate) links: bool,
    /// Columns.
    pub(crate) width: usize,
    /// Whether a person looks at it.
    pub(crate) is_terminal: bool,
    /// Letters beyond ASCII for our own marks.
    pub(crate) unicode: bool,
    /// Whether a line can be written over: the status line.
    pub(crate) live: bool,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    Strong,
    Dim,
    Emphasis,
    Struck,
    Heading,
    Code,
    Keyword,
    Text,
    Number,
    Comment,
    Type,
    Function,
    Added,
    AddedWord,
    Removed,
    RemovedWord,
    Good,
    Warning,
    Bad,
    Link,
}

impl Style {
    /// Parameters of the sequence that switches it on (ECMA-48, SGR).
    const fn parameters(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Dim | Self::Comment => "2",
            Self::Emphasis => "3",
            Self::Struck => "9",
            Self::Heading => "1;36",
            Self::Code | Self::Type => "36",
            Self::Keyword => "35",
            Self::Text | Self::Added | Self::Good => "32",
            Self::Number | Self::Warning => "33",
            Self::Function => "34",
            Self::AddedWord => "1;7;32",
            Self::Removed | Self::Bad => "31",
            Self::RemovedWord => "1;7;31",
            Self::Link => "4;34",
        }
    }
}

impl Look {
    /// Decides from facts. A setting counts more than `NO_COLOR`, which counts more than `FORCE_COLOR`, which counts more
    /// than what the terminal seems to be.
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let is_set = |value: Option<&str>| value.is_some_and(|value| !value.is_empty());
        let is_dumb = facts.term.is_some_and(|term| term == "dumb");
        let live = facts.is_terminal && !is_dumb;
        let colour = match facts.colour {
            "always" => true,
            "never" => false,
            _ if is_set(facts.no_color) => false,
            _ if is_set(facts.force_color) && facts.force_color != Some("0") => true,
            _ => live,
        };
        let locale = facts.locale.unwrap_or_default().to_ascii_lowercase();
        Self {
            colour,
            // The console of Linux prints what it does not know.
            links: facts.links && live && facts.term != Some("linux"),
            width: facts.columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS),
            is_terminal: facts.is_terminal,
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            live,
        }
    }

    /// For a file or another program.
    pub(crate) const fn piped() -> Self {
        Self { colour: false, links: false, width: COLUMNS, is_terminal: false, unicode: true, live: false }
    }

    /// For a terminal that can do everything.
    #[cfg(test)]
    pub(crate) const fn full(width: usize) -> Self {
        Self { colour: true, links: true, width, is_terminal: true, unicode: true, live: true }
    }

    /// For a terminal with nothing but letters.
    pub(crate) const fn plain(width: usize) -> Self {
        Self { colour: false, links: false, width, is_terminal: true, unicode: true, live: true }
    }

    /// A text in a style. It is expected to be neutralised.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        let parameters = style.parameters();
        if !self.colour || parameters.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{parameters}m{text}\u{1b}[0m")
    }

    /// A text that leads somewhere, on a terminal that can do so; without, the text alone. Only addresses of the web and
    /// of mail are linked: others could start programs.
    pub(crate) fn link(&self, address: &str, text: &str) -> String {
        if !self.can_link(address) || text.is_empty() {
            return text.to_owned();
        }
        let mut target = String::with_capacity(address.len());
        for byte in address.bytes() {
            if byte.is_ascii_graphic() {
                target.push(char::from(byte));
            } else {
                target.push_str(&format!("%{byte:02X}"));
            }
        }
        format!("\u{1b}]8;;{target}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
    }

    /// Whether [`Look::link`] makes a link of this.
    pub(crate) fn can_link(&self, address: &str) -> bool {
        self.links && ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
    }

    /// One of two marks of ours, by what can be shown.
    pub(crate) const fn mark(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

#[cfg(test)]
#[path = "look_tests.rs"]
mod tests;
