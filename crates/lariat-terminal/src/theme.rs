//! Decides what a terminal can display, and applies styles.
//!
//! The caller reads the facts (environment, settings, terminal size). All escape sequences for styles and links are
//! written here.
//! [`Theme::paint`] ends every style that it starts; the caller neutralises the text.

use crate::picture::Pictures;

/// Width if the terminal does not report one.
const COLUMNS: usize = 80;

/// Facts about the terminal, and the user's settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalFacts<'a> {
    /// Whether the output is a terminal.
    pub is_terminal: bool,
    /// The width that the terminal reports.
    pub columns: Option<usize>,
    /// `NO_COLOR`.
    pub no_color: Option<&'a str>,
    /// `FORCE_COLOR`, or `CLICOLOR_FORCE`.
    pub force_color: Option<&'a str>,
    /// `TERM`.
    pub term: Option<&'a str>,
    /// The setting `ui.color`; `None` for `auto`.
    pub colour: Option<bool>,
    /// The setting `ui.links`.
    pub links: bool,
    /// The setting `ui.motion`.
    pub motion: bool,
    /// How the terminal draws pictures; `None` if it cannot, or the setting `ui.images` is off.
    pub pictures: Option<Pictures>,
    /// The first nonempty value of `LC_ALL`, `LC_CTYPE` and `LANG`.
    pub locale: Option<&'a str>,
}

/// What the output can display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Colors and font weights.
    pub colour: bool,
    /// Clickable links (OSC 8).
    pub links: bool,
    /// Columns of a line.
    pub width: usize,
    /// Whether the output is a terminal.
    pub is_terminal: bool,
    /// Whether our own symbols may use Unicode.
    pub unicode: bool,
    /// Whether lines can be redrawn, as the status line needs.
    pub live: bool,
    /// Whether animations and running clocks are welcome.
    pub motion: bool,
    /// How pictures are drawn, if they can be.
    pub pictures: Option<Pictures>,
}

/// The role of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Text without a style.
    #[default]
    Plain,
    /// Strong text.
    Strong,
    /// Less important text.
    Dim,
    /// Emphasised text.
    Emphasis,
    /// Text that is struck through.
    Struck,
    /// A heading.
    Heading,
    /// Code in a sentence.
    Code,
    /// A keyword in code.
    Keyword,
    /// A string in code.
    Text,
    /// A number in code.
    Number,
    /// A comment in code.
    Comment,
    /// The name of a type in code.
    Type,
    /// The name of a function in code.
    Function,
    /// An added line.
    Added,
    /// A changed word of an added line.
    AddedWord,
    /// A removed line.
    Removed,
    /// A changed word of a removed line.
    RemovedWord,
    /// A success.
    Good,
    /// A warning.
    Warning,
    /// A failure.
    Bad,
    /// A link.
    Link,
}

impl Style {
    /// SGR parameters that turn the style on (ECMA-48).
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

impl Theme {
    /// Decides from facts. The setting overrides `NO_COLOR`, which overrides `FORCE_COLOR`, which overrides what the terminal
    /// seems to support.
    pub fn of(facts: &TerminalFacts<'_>) -> Self {
        let is_set = |value: Option<&str>| value.is_some_and(|value| !value.is_empty());
        let is_dumb = facts.term.is_some_and(|term| term == "dumb");
        let live = facts.is_terminal && !is_dumb;
        let colour = match facts.colour {
            Some(choice) => choice,
            None if is_set(facts.no_color) => false,
            None if is_set(facts.force_color) && facts.force_color != Some("0") => true,
            None => live,
        };
        let locale = facts.locale.unwrap_or_default().to_ascii_lowercase();
        Self {
            colour,
            // The Linux console prints unknown sequences as text.
            links: facts.links && live && facts.term != Some("linux"),
            width: facts.columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS),
            is_terminal: facts.is_terminal,
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            live,
            motion: facts.motion,
            pictures: facts.pictures.filter(|_| live),
        }
    }

    /// For a file or a pipe.
    pub const fn piped() -> Self {
        Self {
            colour: false,
            links: false,
            width: COLUMNS,
            is_terminal: false,
            unicode: true,
            live: false,
            motion: true,
            pictures: None,
        }
    }

    /// For a terminal with colors, links and Unicode, without pictures.
    pub const fn full(width: usize) -> Self {
        Self {
            colour: true,
            links: true,
            width,
            is_terminal: true,
            unicode: true,
            live: true,
            motion: true,
            pictures: None,
        }
    }

    /// For a terminal without colors and links.
    pub const fn plain(width: usize) -> Self {
        Self { colour: false, links: false, ..Self::full(width) }
    }

    /// Applies a style. The caller neutralises the text.
    pub fn paint(&self, style: Style, text: &str) -> String {
        let parameters = style.parameters();
        if !self.colour || parameters.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{parameters}m{text}\u{1b}[0m")
    }

    /// Makes a text a link if the terminal supports links. Links only web and mail addresses: others could start programs.
    pub fn link(&self, address: &str, text: &str) -> String {
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

    /// Whether [`Theme::link`] links this address.
    pub fn can_link(&self, address: &str) -> bool {
        self.links && ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
    }

    /// Picks the Unicode or the ASCII symbol.
    pub const fn mark(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

#[cfg(test)]
#[path = "theme_tests.rs"]
mod tests;
