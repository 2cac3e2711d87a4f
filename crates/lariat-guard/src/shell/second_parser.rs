//! The second parser: brush, which shares no code with the first.
//!
//! Walks its syntax tree and lists independently everything that the first parser lists, so that a construct that one of
//! them misreads is noticed.

use std::borrow::Cow;
use std::io::Cursor;
use std::panic::UnwindSafe;

use brush_parser::ast::{
    AndOr, AssignmentValue, BinaryPredicate, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, ExtendedTestExpr, IoFileRedirectKind as Kind, IoFileRedirectTarget as ResolvedPath,
    IoRedirect, Pipeline, SimpleCommand, UnaryPredicate,
};
use brush_parser::word::{ParameterExpr, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

use super::parsed::{ParsedScript, RawCommand, RawFile};
use super::{Doubt, arithmetic, names, operator};

/// Maximum nesting of substitutions that is analyzed.
const MAX_DEPTH: usize = 24;
/// Digits of a number that may not fit into a descriptor.
const HUGE_DESCRIPTOR: usize = 10;

/// Parses a text.
pub(super) fn read(text: &str) -> ParsedScript<'static> {
    contained(|| {
        let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
        let mut reader = ScriptReader { options, parsed: ParsedScript::default(), depth: 0 };
        reader.text(text);
        reader.parsed
    })
}

/// Catches a panic of the parser; the text is then unreadable.
pub(super) fn contained(parse: impl FnOnce() -> ParsedScript<'static> + UnwindSafe) -> ParsedScript<'static> {
    std::panic::catch_unwind(parse).unwrap_or_else(|_| {
        let doubts = vec![Doubt::Unreadable("the second parser gave up".to_owned())];
        ParsedScript { doubts, ..ParsedScript::default() }
    })
}

/// Whether a text redirects a number with more digits than any descriptor.
fn has_huge_descriptor(text: &str) -> bool {
    let before = |(at, _): (usize, &str)| text.get(..at).unwrap_or_default();
    let digits = |text: &str| text.bytes().rev().take_while(u8::is_ascii_digit).count();
    text.match_indices(['<', '>']).any(|found| digits(before(found)) >= HUGE_DESCRIPTOR)
}

struct ScriptReader {
    options: ParserOptions,
    parsed: ParsedScript<'static>,
    depth: usize,
}

impl ScriptReader {
    fn text(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH {
            self.parsed.doubt(Doubt::Unknown("nesting this deep".to_owned()));
            return;
        }
        // The parser would panic. The program catches that, but its hook for panics would report a bug and leave the screen.
        if has_huge_descriptor(text) {
            self.parsed
                .doubt(Doubt::Unreadable("a redirection of a number too large for a descriptor".to_owned()));
            return;
        }
        self.depth += 1;
        match Parser::new(Cursor::new(text), &self.options).parse_program() {
            Ok(program) => program.complete_commands.iter().for_each(|list| self.list(list)),
            Err(error) => self.parsed.doubt(Doubt::Unreadable(error.to_string())),
        }
        self.depth -= 1;
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.pipeline(&item.0.first);
            for AndOr::And(pipeline) | AndOr::Or(pipeline) in &item.0.additional {
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        pipeline.seq.iter().for_each(|command| self.command(command));
    }

    fn command(&mut self, command: &Command) {
        let redirects = match command {
            Command::Simple(simple) => {
                self.simple(simple);
                &None
            }
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                redirects
            }
            Command::Function(function) => {
                self.parsed.repeats = true;
                self.compound(&function.body.0);
                &function.body.1
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr);
                redirects
            }
        };
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect);
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            // The first parser checks arithmetic.
            CompoundCommand::Arithmetic(_) => {}
            CompoundCommand::ArithmeticForClause(clause) => {
                self.parsed.repeats = true;
                self.list(&clause.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(shell) => self.list(&shell.list),
            CompoundCommand::ForClause(clause) => {
                self.parsed.repeats = true;
                clause.values.iter().flatten().for_each(|word| self.word(&word.value));
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|word| self.word(&word.value));
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.parsed.repeats = true;
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(process) => {
                self.parsed.doubt(Doubt::Unknown("a coprocess".to_owned()));
                self.command(&process.body);
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let mut raw = RawCommand::default();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in prefix {
            if let Item::AssignmentWord(_, word) = item {
                raw.assignments.push(Cow::Owned(word.value.clone()));
            }
            self.item(item);
        }
        if let Some(name) = &simple.word_or_name {
            raw.words.push(Cow::Owned(name.value.clone()));
            self.word(&name.value);
        }
        for item in suffix {
            match item {
                Item::AssignmentWord(_, word) | Item::Word(word) => {
                    raw.words.push(Cow::Owned(word.value.clone()))
                }
                Item::ProcessSubstitution(kind, _) => raw.words.push(Cow::Owned(format!("{kind}()"))),
                Item::IoRedirect(_) => {}
            }
            self.item(item);
        }
        self.parsed.commands.push(raw);
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::IoRedirect(redirect) => self.redirect(redirect),
            Item::Word(word) => self.word(&word.value),
            Item::AssignmentWord(assignment, _) => match &assignment.value {
                AssignmentValue::Scalar(word) => self.word(&word.value),
                AssignmentValue::Array(elements) => {
                    for (key, value) in elements {
                        key.iter().for_each(|key| self.word(&key.value));
                        self.word(&value.value);
                    }
                }
            },
            Item::ProcessSubstitution(_, shell) => self.list(&shell.list),
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.file(kind, target),
            IoRedirect::OutputAndError(word, _) => self.opened(&word.value, true),
            IoRedirect::HereString(_, word) => self.word(&word.value),
            IoRedirect::HereDocument(_, document) => {
                if self.depth > 1 {
                    self.parsed.doubt(Doubt::Document("a here-document in a substitution".to_owned()));
                }
                if !document.requires_expansion {
                    return;
                }
                match brush_parser::word::parse_heredoc(&document.doc.value, &self.options) {
                    Ok(pieces) => self.pieces(&pieces),
                    Err(error) => self.parsed.doubt(Doubt::Unreadable(error.to_string())),
                }
            }
        }
    }

    fn file(&mut self, kind: &Kind, target: &ResolvedPath) {
        match (kind, target) {
            (_, ResolvedPath::Fd(_)) => {}
            (_, ResolvedPath::ProcessSubstitution(direction, shell)) => {
                let is_written = !matches!(kind, Kind::Read);
                self.parsed.files.push(RawFile { target: Cow::Owned(format!("{direction}()")), is_written });
                self.list(&shell.list);
            }
            (
                Kind::DuplicateInput | Kind::DuplicateOutput,
                ResolvedPath::Duplicate(word) | ResolvedPath::Filename(word),
            ) => {
                if !operator::is_descriptor(&word.value) {
                    self.opened(&word.value, matches!(kind, Kind::DuplicateOutput));
                }
            }
            (_, ResolvedPath::Filename(word) | ResolvedPath::Duplicate(word)) => {
                self.opened(&word.value, !matches!(kind, Kind::Read))
            }
        }
    }

    fn opened(&mut self, raw: &str, is_written: bool) {
        self.parsed.files.push(RawFile { target: Cow::Owned(raw.to_owned()), is_written });
        self.word(raw);
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(one, other) | ExtendedTestExpr::Or(one, other) => {
                self.test(one);
                self.test(other);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                let is_variable = matches!(
                    predicate,
                    UnaryPredicate::ShellVariableIsSetAndAssigned
                        | UnaryPredicate::ShellVariableIsSetAndNameRef
                );
                if is_variable && !names::is_name(&word.value) {
                    self.parsed.doubt(Doubt::Evaluated("a test of a variable by its index".to_owned()));
                }
                self.word(&word.value);
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let is_known = |raw: &str| {
                    arithmetic::is_number(raw) || matches!(raw, "$?" | "$#" | "$$" | "\"$?\"" | "\"$#\"")
                };
                if is_arithmetic(predicate) && !(is_known(&left.value) && is_known(&right.value)) {
                    self.parsed.doubt(Doubt::Evaluated("a comparison of numbers".to_owned()));
                }
                self.word(&left.value);
                self.word(&right.value);
            }
        }
    }

    fn word(&mut self, raw: &str) {
        if !raw.contains(['$', '`']) {
            return;
        }
        match brush_parser::word::parse(raw, &self.options) {
            Ok(pieces) => self.pieces(&pieces),
            Err(error) => self.parsed.doubt(Doubt::Unreadable(error.to_string())),
        }
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource]) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(inner)
                }
                WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
                    self.text(text)
                }
                WordPiece::ParameterExpansion(expansion) => self.expansion(expansion),
                WordPiece::ArithmeticExpression(expression) if expression.value.contains(['$', '`', '[']) => {
                    self.parsed.doubt(Doubt::Evaluated("arithmetic over an expansion".to_owned()));
                }
                // The first parser checks the names in arithmetic; the other pieces contain no commands.
                _ => {}
            }
        }
    }

    fn expansion(&mut self, expansion: &ParameterExpr) {
        use ParameterExpr as E;
        match expansion {
            E::UseDefaultValues { default_value: text, .. }
            | E::AssignDefaultValues { default_value: text, .. }
            | E::IndicateErrorIfNullOrUnset { error_message: text, .. }
            | E::UseAlternativeValue { alternative_value: text, .. }
            | E::RemoveSmallestSuffixPattern { pattern: text, .. }
            | E::RemoveLargestSuffixPattern { pattern: text, .. }
            | E::RemoveSmallestPrefixPattern { pattern: text, .. }
            | E::RemoveLargestPrefixPattern { pattern: text, .. }
            | E::UppercaseFirstChar { pattern: text, .. }
            | E::UppercasePattern { pattern: text, .. }
            | E::LowercaseFirstChar { pattern: text, .. }
            | E::LowercasePattern { pattern: text, .. } => text.iter().for_each(|text| self.word(text)),
            E::ReplaceSubstring { pattern, replacement, .. } => {
                self.word(pattern);
                replacement.iter().for_each(|text| self.word(text));
            }
            E::Parameter { .. } | E::ParameterLength { .. } | E::Substring { .. } => {}
            E::Transform { .. } | E::VariableNames { .. } | E::MemberKeys { .. } => {
                self.parsed.doubt(Doubt::Evaluated("an expansion of a value".to_owned()));
            }
        }
    }
}

fn is_arithmetic(predicate: &BinaryPredicate) -> bool {
    use BinaryPredicate as B;
    matches!(
        predicate,
        B::ArithmeticEqualTo
            | B::ArithmeticNotEqualTo
            | B::ArithmeticLessThan
            | B::ArithmeticLessThanOrEqualTo
            | B::ArithmeticGreaterThan
            | B::ArithmeticGreaterThanOrEqualTo
    )
}
