//! Classifies the words of code for syntax highlighting: keywords, strings, comments.
//!
//! Uses tree-sitter grammars for some languages and a simple lexer for the others. Code with syntax errors is
//! classified as far as possible; code that is too long is not classified.
//!
//! Invariant: the ranges are in order, do not overlap, and end at character boundaries.

use std::ops::Range;

use tree_sitter::{Language, Node, Parser};

/// Maximum size of code to classify, in bytes.
const LIMIT: usize = 64 * 1024;

/// The class of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Token {
    /// A keyword of the language.
    Keyword,
    /// The name of a type.
    Type,
    /// The name of a function where it is defined or called.
    Function,
    /// A string or character literal.
    String,
    /// A number or another literal, such as `true`.
    Number,
    /// A comment.
    Comment,
    /// Text without a class of its own.
    Plain,
}

/// A language with a grammar, by its names in fenced code blocks.
struct KnownLanguage {
    names: &'static [&'static str],
    grammar: fn() -> Language,
}

static LANGUAGES: [KnownLanguage; 9] = [
    KnownLanguage { names: &["rust", "rs"], grammar: || tree_sitter_rust::LANGUAGE.into() },
    KnownLanguage {
        names: &["python", "py", "python3", "pyi"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
    },
    KnownLanguage {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "node"],
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
    },
    KnownLanguage {
        names: &["typescript", "ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    },
    KnownLanguage { names: &["tsx"], grammar: || tree_sitter_typescript::LANGUAGE_TSX.into() },
    KnownLanguage { names: &["go", "golang"], grammar: || tree_sitter_go::LANGUAGE.into() },
    KnownLanguage { names: &["java"], grammar: || tree_sitter_java::LANGUAGE.into() },
    KnownLanguage { names: &["c", "h"], grammar: || tree_sitter_c::LANGUAGE.into() },
    KnownLanguage {
        names: &["cpp", "c++", "cc", "cxx", "hpp", "hh", "hxx"],
        grammar: || tree_sitter_cpp::LANGUAGE.into(),
    },
];

/// Languages whose comments begin with `#`.
const HASH: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "fish",
    "shell",
    "console",
    "toml",
    "yaml",
    "yml",
    "ini",
    "conf",
    "dockerfile",
    "docker",
    "make",
    "makefile",
    "ruby",
    "rb",
    "perl",
    "r",
    "elixir",
    "nix",
    "cmake",
    "hcl",
    "terraform",
    "properties",
    "powershell",
    "ps1",
    "julia",
    "tcl",
];
/// Languages whose comments begin with `//`.
const SLASHES: &[&str] = &[
    "json5", "jsonc", "csharp", "cs", "swift", "kotlin", "kt", "scala", "php", "dart", "zig", "proto",
    "protobuf", "scss", "less", "groovy", "objc", "d", "v", "solidity", "glsl", "wgsl",
];
/// Languages whose comments begin with `--`.
const DASHES: &[&str] = &["sql", "lua", "haskell", "hs", "elm", "ada", "vhdl"];
/// Languages without comments.
const NONE: &[&str] = &["json", "jsonl", "ndjson"];

/// Returns the classified words of code, in order. Empty if the language is unknown or the code is too long.
///
/// ```
/// use lariat_terminal::highlight::{Token, highlight};
///
/// let code = "let x = 1; // one";
/// let words: Vec<_> = highlight("rust", code).into_iter().map(|(range, token)| (&code[range], token)).collect();
/// assert_eq!(words.first(), Some(&("let", Token::Keyword)));
/// assert_eq!(words.last(), Some(&("// one", Token::Comment)));
/// ```
pub fn highlight(language: &str, code: &str) -> Vec<(Range<usize>, Token)> {
    if code.len() > LIMIT {
        return Vec::new();
    }
    let language = language.to_ascii_lowercase();
    let language = language.as_str();
    if let Some(known) = LANGUAGES.iter().find(|known| known.names.contains(&language)) {
        return parse_tokens(&(known.grammar)(), code);
    }
    let lexers: [(&[&str], &str); 4] = [(HASH, "#"), (SLASHES, "//"), (DASHES, "--"), (NONE, "")];
    match lexers.iter().find(|(names, _)| names.contains(&language)) {
        Some((_, comment)) => lex_code(code, comment),
        None => Vec::new(),
    }
}

/// Whether [`highlight`] supports a language.
pub fn is_known(language: &str) -> bool {
    let language = language.to_ascii_lowercase();
    let language = language.as_str();
    LANGUAGES.iter().any(|known| known.names.contains(&language))
        || [HASH, SLASHES, DASHES, NONE].iter().any(|names| names.contains(&language))
}

/// Classifies the leaves of a syntax tree by their kinds and those of their parents.
fn parse_tokens(grammar: &Language, code: &str) -> Vec<(Range<usize>, Token)> {
    let mut parser = Parser::new();
    if parser.set_language(grammar).is_err() {
        return Vec::new();
    }
    let Some(tree) = parser.parse(code, None) else { return Vec::new() };
    let mut words = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let whole = whole(&node);
        match whole.or_else(|| (node.child_count() == 0).then(|| leaf(&node, code))) {
            Some(Token::Plain) => {}
            Some(token) if !node.byte_range().is_empty() => words.push((node.byte_range(), token)),
            _ => {}
        }
        if whole.is_none() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return words;
            }
        }
    }
}

/// Classifies nodes that are one word, whatever their children are.
fn whole(node: &Node<'_>) -> Option<Token> {
    let kind = node.kind();
    if !node.is_named() {
        return None;
    }
    if kind.contains("comment") {
        return Some(Token::Comment);
    }
    match kind {
        "string_literal"
        | "raw_string_literal"
        | "char_literal"
        | "interpreted_string_literal"
        | "rune_literal"
        | "character_literal"
        | "text_block"
        | "string"
        | "string_fragment"
        | "string_content"
        | "escape_sequence"
        | "system_lib_string"
        | "regex" => {
            // An interpolation inside a string is code again.
            let is_mixed = (0..node.named_child_count())
                .filter_map(|at| node.named_child(u32::try_from(at).unwrap_or(u32::MAX)))
                .any(|child| matches!(child.kind(), "interpolation" | "template_substitution"));
            (!is_mixed).then_some(Token::String)
        }
        "primitive_type"
        | "type_identifier"
        | "predefined_type"
        | "integral_type"
        | "floating_point_type"
        | "boolean_type"
        | "void_type"
        | "sized_type_specifier" => Some(Token::Type),
        _ => None,
    }
}

fn leaf(node: &Node<'_>, code: &str) -> Token {
    let kind = node.kind();
    if !node.is_named() {
        let is_word = kind.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '_');
        return match kind {
            "\"" | "'" | "`" | "string_start" | "string_end" => Token::String,
            "true" | "false" => Token::Number,
            _ if is_word && !kind.is_empty() => Token::Keyword,
            _ => Token::Plain,
        };
    }
    match kind {
        "string_start" | "string_end" => Token::String,
        "true" | "false" | "none" | "null" | "nil" | "None" | "undefined" | "boolean_literal"
        | "null_literal" | "iota" => Token::Number,
        "self" | "this" | "super" | "crate" | "mutable_specifier" => Token::Keyword,
        "int_literal" | "imaginary_literal" => Token::Number,
        _ if kind.contains("integer") || kind.contains("float") || kind.contains("number") => Token::Number,
        _ if kind.contains("identifier") => named(node, code),
        _ => Token::Plain,
    }
}

/// Classifies a name by its position.
fn named(node: &Node<'_>, code: &str) -> Token {
    let Some(parent) = node.parent() else { return Token::Plain };
    let is_field = |name: &str| parent.child_by_field_name(name).is_some_and(|child| child.id() == node.id());
    match parent.kind() {
        "function_item"
        | "function_signature_item"
        | "function_definition"
        | "function_declaration"
        | "method_declaration"
        | "method_definition"
        | "constructor_declaration"
        | "generator_function_declaration"
            if is_field("name") =>
        {
            Token::Function
        }
        "class_definition"
        | "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
            if is_field("name") =>
        {
            Token::Type
        }
        "function_declarator" if is_field("declarator") => Token::Function,
        "call_expression" | "call" if is_field("function") => Token::Function,
        "method_invocation" if is_field("name") => Token::Function,
        "macro_invocation" if is_field("macro") => Token::Function,
        "macro_definition" if is_field("name") => Token::Function,
        "field_expression"
        | "scoped_identifier"
        | "member_expression"
        | "attribute"
        | "selector_expression"
        | "qualified_identifier"
            if is_last(node, &parent) && is_called(&parent) =>
        {
            Token::Function
        }
        "type" => Token::Type,
        _ if code.get(node.byte_range()).is_some_and(|name| name == "self") => Token::Keyword,
        _ => Token::Plain,
    }
}

fn is_last(node: &Node<'_>, parent: &Node<'_>) -> bool {
    node.end_byte() == parent.end_byte()
}

fn is_called(node: &Node<'_>) -> bool {
    node.parent().is_some_and(|call| {
        matches!(call.kind(), "call_expression" | "call")
            && call.child_by_field_name("function").is_some_and(|function| function.id() == node.id())
    })
}

/// Classifies strings, numbers and comments of a language without a grammar. Strings end with their line.
fn lex_code(code: &str, comment: &str) -> Vec<(Range<usize>, Token)> {
    let mut words = Vec::new();
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        lex_line(code, start..end, comment, &mut words);
        start += line.len();
    }
    words
}

fn lex_line(code: &str, line: Range<usize>, comment: &str, words: &mut Vec<(Range<usize>, Token)>) {
    let mut at = line.start;
    let mut before = ' ';
    while at < line.end {
        let Some(rest) = code.get(at..line.end) else { return };
        let Some(letter) = rest.chars().next() else { return };
        let starts_word = !(before.is_alphanumeric() || before == '_');
        let opens_comment = !comment.is_empty() && rest.starts_with(comment);
        // In shells a `#` within a word starts no comment, and neither does `//` in a URL.
        if opens_comment && starts_word && before != ':' && before != '$' {
            words.push((at..line.end, Token::Comment));
            return;
        }
        let (length, token) = match letter {
            '"' | '\'' if starts_word => (quoted(rest, letter), Token::String),
            '0'..='9' if starts_word => (number(rest), Token::Number),
            _ if starts_word && (letter.is_alphabetic() || letter == '_') => word(rest),
            _ => (letter.len_utf8(), Token::Plain),
        };
        if token != Token::Plain {
            words.push((at..at + length, token));
        }
        before = rest.get(..length).and_then(|text| text.chars().next_back()).unwrap_or(' ');
        at += length.max(1);
    }
}

/// Length of a string with its quotes in bytes; of the quote alone if the string never ends.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == quote {
            return at + letter.len_utf8();
        }
    }
    if quote == '"' { rest.len() } else { quote.len_utf8() }
}

fn number(rest: &str) -> usize {
    let is_part =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-' | ':' | '+');
    let end = rest.find(|letter: char| !is_part(letter)).unwrap_or(rest.len());
    rest.get(..end).map_or(end, |text| text.trim_end_matches(['.', ':', '-', '+']).len()).max(1)
}

fn word(rest: &str) -> (usize, Token) {
    let end = rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(rest.len());
    let token = match rest.get(..end).unwrap_or_default().to_ascii_lowercase().as_str() {
        "true" | "false" | "null" | "none" | "nil" | "yes" | "no" => Token::Number,
        "if" | "then" | "else" | "elif" | "fi" | "for" | "while" | "do" | "done" | "case" | "esac" | "in"
        | "function" | "return" | "export" | "local" | "select" | "from" | "where" | "insert" | "update"
        | "delete" | "join" | "on" | "group" | "order" | "by" | "create" | "table" | "into" | "values"
        | "class" | "def" | "end" | "let" | "var" | "val" | "const" | "fun" | "func" | "import"
        | "public" | "private" | "static" | "void" | "new" => Token::Keyword,
        _ => Token::Plain,
    };
    (end, token)
}

#[cfg(test)]
#[path = "highlight_tests.rs"]
mod tests;
