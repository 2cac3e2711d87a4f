//! The first parser: tree-sitter's bash grammar.
//!
//! Constructs that are not listed are doubts. The walk over the tree is iterative, in the order of the text, because a chain
//! of ten thousand parts is a tree of ten thousand levels.
//! Every byte of the text is a blank or part of a node that was visited.

use std::borrow::Cow;
use std::ops::Range;

use tree_sitter::{Node, Parser, Tree};

use super::Doubt;
use super::grammar::{EXPRESSIONS, KINDS, REPEATING, TEXTS};
use super::operator::Operator;
use super::parsed::{ParsedScript, RawCommand, RawFile};
use super::{arithmetic, heredoc, names, parameter};

/// Maximum levels of nesting that are analyzed, not counting the parts of a chain.
const MAX_DEPTH: usize = 80;

/// What the parent node does with its children.
#[derive(Clone, Copy, Debug)]
enum NodeFrame {
    Other,
    /// Children are words and assignments of this command.
    Command(usize),
    /// All children, including operators, are words of this command.
    Words(usize),
    /// A statement with redirections, and its command once that is known.
    Redirected(Option<usize>),
    /// A redirection to a file: its command, its operator, and whether the file has been named.
    Redirect {
        of: Option<usize>,
        writes: Option<Operator>,
        is_named: bool,
    },
    Heredoc(Option<usize>),
    Arithmetic,
}

/// Byte ranges of words; they become text at the end.
#[derive(Default)]
struct CommandSpans {
    assignments: Vec<Range<usize>>,
    words: Vec<Range<usize>>,
    place: Range<usize>,
}

struct TreeWalk<'a> {
    text: &'a str,
    commands: Vec<CommandSpans>,
    files: Vec<(Range<usize>, Operator)>,
    parsed: ParsedScript<'a>,
    /// The text up to here is accounted for.
    covered: usize,
    /// Up to here, text between nodes is content.
    free_until: usize,
    /// The text up to here is inside a substitution.
    substituted_until: usize,
    arithmetic: arithmetic::ArithmeticNames<'a>,
}

/// Parses a text.
pub(super) fn read(text: &str) -> ParsedScript<'_> {
    let Some(tree) = parse(text) else {
        let doubts = vec![Doubt::Unreadable("the grammar could not be loaded".to_owned())];
        return ParsedScript { doubts, ..ParsedScript::default() };
    };
    let mut walk = TreeWalk {
        text,
        commands: Vec::new(),
        files: Vec::new(),
        parsed: ParsedScript::default(),
        covered: 0,
        free_until: 0,
        substituted_until: 0,
        arithmetic: arithmetic::ArithmeticNames::default(),
    };
    if tree.root_node().has_error() {
        walk.parsed.doubt(Doubt::Unreadable("a syntax error".to_owned()));
    }
    walk.run(&tree);
    walk.finish()
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(text, None)
}

impl<'a> TreeWalk<'a> {
    fn run(&mut self, tree: &Tree) {
        let mut cursor = tree.walk();
        let mut frames: Vec<NodeFrame> = Vec::new();
        let mut depth = 0_usize;
        loop {
            let node = cursor.node();
            let frame = self.visit(node, cursor.field_name(), frames.last_mut());
            let is_level = node.kind() != "list";
            if cursor.goto_first_child() {
                frames.push(frame);
                depth += usize::from(is_level);
                if depth > MAX_DEPTH {
                    self.unknown("nesting this deep");
                    break;
                }
                continue;
            }
            self.leaf(node);
            while !cursor.goto_next_sibling() {
                frames.pop();
                if !cursor.goto_parent() {
                    self.gap(self.text.len());
                    return;
                }
                depth = depth.saturating_sub(usize::from(cursor.node().kind() != "list"));
            }
        }
    }

    fn unknown(&mut self, what: &str) {
        self.parsed.doubt(Doubt::Unknown(what.to_owned()));
    }

    fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    fn leaf(&mut self, node: Node<'_>) {
        self.gap(node.start_byte());
        let text = self.slice(node.byte_range());
        if TEXTS.contains(&node.kind())
            && text.contains(['$', '`'])
            && text.replace("\\$", "").replace("\\`", "").contains(['$', '`'])
        {
            self.unknown("an expansion that the grammar does not mark");
        }
        self.covered = self.covered.max(node.end_byte());
    }

    /// Checks that the text up to here that belongs to no node is blank.
    fn gap(&mut self, until: usize) {
        if until <= self.covered {
            return;
        }
        let gap = self.slice(self.covered..until);
        let is_content = until <= self.free_until;
        if !is_content && !gap.replace("\\\n", "").bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n')) {
            self.unknown("text outside the grammar");
        }
    }

    fn visit(&mut self, node: Node<'_>, field: Option<&str>, parent: Option<&mut NodeFrame>) -> NodeFrame {
        let kind = node.kind();
        if node.is_named() && !KINDS.contains(&kind) {
            self.parsed.doubt(Doubt::Unknown(kind.to_owned()));
        }
        self.parsed.repeats |= REPEATING.contains(&kind);
        let mut outer = NodeFrame::Other;
        let parent = parent.unwrap_or(&mut outer);
        match *parent {
            NodeFrame::Command(index) => self.child_of_command(node, index),
            NodeFrame::Words(index) => {
                if EXPRESSIONS.contains(&kind) {
                    return NodeFrame::Words(index);
                }
                self.add_word(index, node.byte_range());
            }
            NodeFrame::Heredoc(Some(index)) if field == Some("argument") => {
                self.add_word(index, node.byte_range())
            }
            NodeFrame::Redirect { of, writes, is_named } => {
                *parent = self.child_of_redirect(node, of, writes, is_named);
            }
            NodeFrame::Arithmetic => self.child_of_arithmetic(node),
            _ => {}
        }
        let of = match *parent {
            NodeFrame::Command(index)
            | NodeFrame::Redirected(Some(index))
            | NodeFrame::Heredoc(Some(index)) => Some(index),
            _ => None,
        };
        let is_arithmetic = matches!(*parent, NodeFrame::Arithmetic);
        match kind {
            "command" => NodeFrame::Command(self.begin(node, parent)),
            "declaration_command" | "unset_command" => NodeFrame::Words(self.begin(node, parent)),
            "variable_assignments" => NodeFrame::Command(self.begin(node, parent)),
            "test_command" if self.slice(node.byte_range()).starts_with("((") => NodeFrame::Arithmetic,
            "test_command" if !self.slice(node.byte_range()).starts_with("[[") => {
                NodeFrame::Words(self.begin(node, parent))
            }
            "variable_assignment" => {
                if !is_arithmetic && !matches!(*parent, NodeFrame::Command(_) | NodeFrame::Words(_)) {
                    let index = self.begin(node, parent);
                    if let Some(command) = self.commands.get_mut(index) {
                        command.assignments.push(node.byte_range());
                    }
                }
                if is_arithmetic {
                    self.arithmetic.mark_assigned(self.slice(node.byte_range()));
                    return NodeFrame::Arithmetic;
                }
                NodeFrame::Other
            }
            "redirected_statement" => NodeFrame::Redirected(None),
            "file_redirect" if self.slice(0..node.start_byte()).ends_with('}') => {
                // `{name}>file`, which neither parser supports.
                self.unknown("a file descriptor in a variable");
                NodeFrame::Other
            }
            "file_redirect" => NodeFrame::Redirect { of, writes: None, is_named: false },
            "heredoc_redirect" => {
                self.heredoc(node);
                NodeFrame::Heredoc(of)
            }
            "heredoc_body" => {
                self.free_until = self.free_until.max(node.end_byte());
                NodeFrame::Other
            }
            "arithmetic_expansion" | "c_style_for_statement" => NodeFrame::Arithmetic,
            "compound_statement" if self.slice(node.byte_range()).starts_with("((") => NodeFrame::Arithmetic,
            "do_group" => NodeFrame::Other,
            "function_definition" => {
                self.unknown("a function definition");
                NodeFrame::Other
            }
            "for_statement" => {
                self.loop_variable(node);
                NodeFrame::Other
            }
            "process_substitution" => {
                self.substituted_until = self.substituted_until.max(node.end_byte());
                NodeFrame::Other
            }
            "command_substitution" => {
                self.substituted_until = self.substituted_until.max(node.end_byte());
                let inside = self.slice(node.byte_range());
                if inside.starts_with('`') && inside.contains('\\') {
                    self.unknown("a backslash between backquotes");
                }
                NodeFrame::Other
            }
            // Parsers differ on where it ends: the second one may take the `)` as a part of it and fail.
            "comment" if node.start_byte() < self.substituted_until => {
                self.unknown("a comment in a substitution");
                NodeFrame::Other
            }
            "expansion" => {
                if let Some(what) = parameter::doubt(self.slice(node.byte_range())) {
                    self.unknown(what);
                }
                NodeFrame::Other
            }
            "subscript" => {
                if !arithmetic::is_plain_subscript(self.slice(node.byte_range())) {
                    self.unknown("a computed array index");
                }
                NodeFrame::Other
            }
            _ if is_arithmetic && !is_substitution(kind) => NodeFrame::Arithmetic,
            _ => NodeFrame::Other,
        }
    }

    /// Starts a new command and records it in the statement around it.
    fn begin(&mut self, node: Node<'_>, parent: &mut NodeFrame) -> usize {
        let index = self.commands.len();
        self.commands.push(CommandSpans { place: node.byte_range(), ..CommandSpans::default() });
        if let NodeFrame::Redirected(of @ None) = parent {
            *of = Some(index);
        }
        index
    }

    fn child_of_command(&mut self, node: Node<'_>, index: usize) {
        match node.kind() {
            "variable_assignment" => {
                let Some(command) = self.commands.get_mut(index) else { return };
                if command.words.is_empty() {
                    command.assignments.push(node.byte_range());
                } else {
                    command.words.push(node.byte_range());
                }
            }
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {}
            _ => self.add_word(index, node.byte_range()),
        }
    }

    fn add_word(&mut self, index: usize, range: Range<usize>) {
        let Some(command) = self.commands.get_mut(index) else { return };
        let is_glued = command.assignments.last().is_some_and(|last| last.end == range.start);
        match command.words.last_mut() {
            // `a=(1)= b`: all of it is the assignment.
            None if is_glued => self.unknown("text after an array"),
            // The grammar splits some words; bash splits only at blanks.
            Some(last) if last.end == range.start => last.end = range.end,
            _ => command.words.push(range),
        }
    }

    fn child_of_redirect(
        &mut self,
        node: Node<'_>,
        of: Option<usize>,
        writes: Option<Operator>,
        is_named: bool,
    ) -> NodeFrame {
        let Some(operator) = writes else {
            let operator = Operator::of(node.kind());
            if node.kind() != "file_descriptor" && operator.is_none() {
                self.unknown("an unusual redirection");
            }
            return NodeFrame::Redirect { of, writes: operator, is_named };
        };
        if !is_named && operator != Operator::Close {
            self.files.push((node.byte_range(), operator));
        } else {
            match (of, self.files.last_mut()) {
                (_, Some((range, _))) if operator != Operator::Close && range.end == node.start_byte() => {
                    range.end = node.end_byte();
                }
                (Some(index), _) => self.add_word(index, node.byte_range()),
                (None, _) => self.unknown("a word after a redirection"),
            }
        }
        NodeFrame::Redirect { of, writes, is_named: true }
    }

    fn child_of_arithmetic(&mut self, node: Node<'_>) {
        let text = self.slice(node.byte_range());
        match node.kind() {
            "variable_name" | "word" => self.arithmetic.mark_used(text),
            "simple_expansion" => self.arithmetic.mark_used(text.trim_start_matches('$')),
            "expansion" if text.starts_with("${#") => {}
            "expansion"
            | "command_substitution"
            | "string"
            | "raw_string"
            | "concatenation"
            | "ansi_c_string"
            | "subscript" => {
                self.unknown("arithmetic over an unknown value");
            }
            _ => {}
        }
    }

    fn loop_variable(&mut self, node: Node<'_>) {
        let name = node
            .child_by_field_name("variable")
            .map(|name| self.slice(name.byte_range()))
            .unwrap_or_default();
        self.arithmetic.mark_not_number(name);
        if names::is_dangerous(name) {
            self.unknown("a loop over a variable that other programs obey");
        }
    }

    fn heredoc(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let (mut operator, mut start, mut end) = (None, None, None);
        for child in node.children(&mut cursor) {
            match child.kind() {
                "<<" | "<<-" => operator = Some(child.byte_range()),
                "heredoc_start" => start = Some(child.byte_range()),
                "heredoc_end" => end = Some(child.byte_range()),
                _ => {}
            }
        }
        let (Some(operator), Some(start), Some(end)) = (operator, start, end) else {
            self.unknown("a here-document without an end");
            return;
        };
        let doubt = if node.start_byte() < self.substituted_until {
            Some("a here-document in a substitution")
        } else {
            heredoc::Document { text: self.text, operator, start, end }.doubt()
        };
        if let Some(doubt) = doubt {
            self.parsed.doubt(Doubt::Document(doubt.to_owned()));
        }
    }

    fn finish(mut self) -> ParsedScript<'a> {
        let text = self.text;
        let cut = |range: Range<usize>| Cow::Borrowed(text.get(range).unwrap_or_default());
        self.parsed.commands = std::mem::take(&mut self.commands)
            .into_iter()
            .map(|spans| RawCommand {
                assignments: spans.assignments.into_iter().map(cut).collect(),
                words: spans.words.into_iter().map(cut).collect(),
                place: spans.place,
            })
            .collect();
        for (range, operator) in std::mem::take(&mut self.files) {
            let target = cut(range);
            if operator == Operator::WriteOrDuplicate && target.contains(['\\', '\'', '"', '$', '`']) {
                // Bash removes the quotes of this word in another way: `>&o\\` at the end of a line opens `o`.
                self.unknown("a quoted target of `>&`");
            }
            if operator == Operator::WriteOrDuplicate && target.len() > 1 && target.starts_with('-') {
                // Bash takes only the dash: `>& -n` closes the output, and `n` is an argument.
                self.unknown("a target of `>&` that starts with a dash");
            }
            let Some(is_written) = operator.opens(&target) else { continue };
            if operator == Operator::Duplicate {
                self.unknown("an unknown file descriptor");
            }
            self.parsed.files.push(RawFile { target, is_written });
        }
        if let Some(doubt) = self.arithmetic.doubt(&self.parsed.commands) {
            self.parsed.doubt(doubt);
        }
        self.parsed
    }
}

fn is_substitution(kind: &str) -> bool {
    matches!(
        kind,
        "command_substitution" | "process_substitution" | "string" | "expansion" | "simple_expansion"
    )
}
