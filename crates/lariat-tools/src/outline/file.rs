//! Extracts the definitions and mentions of one file.
//!
//! Walks the syntax tree in a loop instead of recursion, because trees can be as deep as the file is long. Definitions
//! inside a function are left out.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use super::language::{DeclaratorFilter, Definition, DefinitionScope, Grammars, LoadedGrammar, Name};
use super::terms::FileTerms;

/// Maximum number of definitions of one file.
const MAX_DEFINITIONS: usize = 2_000;
/// Maximum number of names that one file mentions.
const MAX_MENTIONS: usize = 4_000;
/// Maximum depth of a tree: moving a cursor up takes time that grows with its depth.
const MAX_DEPTH: usize = 1_000;
/// Maximum length of a signature in characters.
const SIGNATURE: usize = 140;
/// Minimum length of a name; shorter names are too common to be useful.
const MIN_NAME: usize = 3;

/// The definitions and mentions of one file.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) definitions: Vec<FileDefinition>,
    /// Hashes of names and how often each occurs; sorted.
    pub(crate) mentions: Vec<(u64, u32)>,
    /// The words of the file.
    pub(crate) terms: FileTerms,
}

/// One definition.
#[derive(Debug)]
pub(crate) struct FileDefinition {
    /// Starts at 1.
    pub(crate) line: usize,
    pub(crate) level: usize,
    pub(crate) signature: String,
    /// The hash of its name, if other files can mention it.
    pub(crate) name: Option<u64>,
}

/// Parses files on one thread.
pub(crate) struct Outliner<'a> {
    grammars: &'a Grammars,
    parser: Parser,
}

impl<'a> Outliner<'a> {
    pub(crate) fn new(grammars: &'a Grammars) -> Self {
        Self { grammars, parser: Parser::new() }
    }

    /// Returns the outline of a source file; `None` if `should_continue` returns false.
    pub(crate) fn outline(
        &mut self,
        source: &[u8],
        language: usize,
        should_continue: &impl Fn() -> bool,
    ) -> Option<Outline> {
        let walk = self.walk(source, language, should_continue)?;
        let mut mentions: Vec<_> = walk.mentions.into_iter().collect();
        mentions.sort_unstable();
        let terms = FileTerms::of(source, walk.names.iter().map(|(_, name)| name.as_str()));
        Some(Outline { mentions, terms, ..walk.outline })
    }

    /// Returns the definitions of a source file that have a name, with their names; `None` if `should_continue` returns
    /// false.
    pub(crate) fn named(
        &mut self,
        source: &[u8],
        language: usize,
        should_continue: &impl Fn() -> bool,
    ) -> Option<Vec<(String, FileDefinition)>> {
        let walk = self.walk(source, language, should_continue)?;
        let mut definitions = walk.outline.definitions.into_iter().enumerate();
        let named = walk.names.into_iter().filter_map(|(at, name)| {
            let (_, definition) = definitions.find(|(place, _)| *place == at)?;
            Some((name, definition))
        });
        Some(named.collect())
    }

    fn walk<'s>(
        &'s mut self,
        source: &'s [u8],
        language: usize,
        should_continue: &impl Fn() -> bool,
    ) -> Option<OutlineWalk<'s>> {
        let loaded = self.grammars.get(language)?;
        // This also discards a parse that was cancelled.
        self.parser.set_language(&loaded.grammar).ok()?;
        let mut look = |_: &tree_sitter::ParseState| {
            if should_continue() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut look);
        let mut rest = |at: usize, _| source.get(at..).unwrap_or_default();
        let tree = self.parser.parse_with_options(&mut rest, None, Some(options));
        let tree = tree?;
        let mut walk = OutlineWalk {
            source,
            loaded,
            outline: Outline::default(),
            mentions: HashMap::new(),
            names: Vec::new(),
        };
        walk.run(&mut tree.walk());
        Some(walk)
    }
}

struct OutlineWalk<'s> {
    source: &'s [u8],
    loaded: &'s LoadedGrammar,
    outline: Outline,
    mentions: HashMap<u64, u32>,
    /// The names of the definitions, with their places among them, in their order.
    names: Vec<(usize, String)>,
}

impl OutlineWalk<'_> {
    fn run(&mut self, cursor: &mut TreeCursor<'_>) {
        // Definitions that contain the node, with their depths in the tree.
        let mut around: Vec<(usize, DefinitionScope)> = Vec::new();
        // The cursor could compute it, but would count it each time.
        let mut depth = 0;
        loop {
            let node = cursor.node();
            while around.last().is_some_and(|(above, _)| *above >= depth) {
                around.pop();
            }
            let kind = usize::from(node.kind_id());
            let defines = self.loaded.definitions.get(kind).copied().flatten();
            if let Some(definition) = defines
                && around.iter().all(|(_, scope)| *scope == DefinitionScope::Open)
                && self.define(node, &definition, around.len())
            {
                around.push((depth, definition.scope));
            }
            if self.loaded.names.get(kind) == Some(&true) && node.child_count() == 0 {
                self.mention(node);
            }
            if depth < MAX_DEPTH && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                depth -= 1;
            }
        }
    }

    fn text(&self, start: usize, end: usize) -> &[u8] {
        self.source.get(start..end).unwrap_or_default()
    }

    fn mention(&mut self, node: Node<'_>) {
        if let Some(name) = hash(self.text(node.start_byte(), node.end_byte()))
            && (self.mentions.len() < MAX_MENTIONS || self.mentions.contains_key(&name))
        {
            *self.mentions.entry(name).or_default() += 1;
        }
    }

    fn define(&mut self, node: Node<'_>, definition: &Definition, level: usize) -> bool {
        let Some(named) = name(node, definition.name) else { return false };
        if self.outline.definitions.len() >= MAX_DEFINITIONS {
            return false;
        }
        let own = self.text(named.start_byte(), named.end_byte());
        let name = if matches!(definition.name, Name::Other(_)) { None } else { hash(own) };
        let signature = self.signature(node, definition.prefix, own);
        let named = String::from_utf8_lossy(own).into_owned();
        let line = node.start_position().row + 1;
        if name.is_some() {
            self.names.push((self.outline.definitions.len(), named));
        }
        self.outline.definitions.push(FileDefinition { line, level, signature, name });
        true
    }

    /// The text of a definition up to its body, on one line.
    fn signature(&self, node: Node<'_>, prefix: &str, name: &[u8]) -> String {
        let value = node.child_by_field_name("value");
        let body = node.child_by_field_name("body").or_else(|| value?.child_by_field_name("body"));
        let text = String::from_utf8_lossy(
            self.text(node.start_byte(), body.map_or(node.end_byte(), |body| body.start_byte())),
        );
        let head = match body {
            Some(_) => &*text,
            None => text.split(" = ").next().and_then(|head| head.split('{').next()).unwrap_or(&text),
        };
        let words: Vec<&str> = head.split_whitespace().collect();
        let mut signature = format!("{prefix}{}", words.join(" "));
        for (wide, close) in [("( ", "("), (", )", ")"), (" )", ")")] {
            signature = signature.replace(wide, close);
        }
        for end in ["{", ";", ":", "=>", "=", ","] {
            signature.truncate(signature.strip_suffix(end).unwrap_or(&signature).trim_end().len());
        }
        let name = String::from_utf8_lossy(name);
        let name = name.split_whitespace().next().unwrap_or_default();
        if !signature.contains(name) {
            signature = format!("{signature} {name}");
        }
        match signature.char_indices().nth(SIGNATURE) {
            Some((end, _)) => format!("{}…", signature.get(..end).unwrap_or_default()),
            None => signature,
        }
    }
}

/// Returns the node with the name of a definition, if it is one.
fn name<'t>(node: Node<'t>, place: Name) -> Option<Node<'t>> {
    const FUNCTIONS: [&str; 4] = ["arrow_function", "function_expression", "generator_function", "class"];
    match place {
        Name::Field(field) | Name::Other(field) => node.child_by_field_name(field),
        Name::WithBody => node.child_by_field_name("body").and_then(|_| node.child_by_field_name("name")),
        Name::Value => {
            let value = node.child_by_field_name("value").filter(|value| FUNCTIONS.contains(&value.kind()));
            value.and_then(|_| node.child_by_field_name("name"))
        }
        Name::Declarator(only) => {
            let (mut here, mut is_function) = (node.child_by_field_name("declarator")?, false);
            loop {
                is_function |= here.kind() == "function_declarator";
                match here.child_by_field_name("declarator") {
                    Some(inner) => here = inner,
                    None => break,
                }
            }
            // The last name of `a::b::c`.
            while let Some(inner) = here.child_by_field_name("name") {
                here = inner;
            }
            (only == DeclaratorFilter::All || is_function).then_some(here)
        }
    }
}

/// The hash by which names are compared. `None` for short names, which are too common.
fn hash(name: &[u8]) -> Option<u64> {
    (name.len() >= MIN_NAME).then(|| {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        hasher.finish()
    })
}
