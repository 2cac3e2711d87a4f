//! Reads the modules of a crate from its source: what each defines, imports and mentions.
//!
//! Invariant: code that only tests compile is left out, and so are comments and strings (except for paths in
//! attributes, such as those of serde).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::rust_tokens::{Token, TokenKind, tokens};

/// A module's names from the crate's root down; empty for the root.
pub(crate) type ModulePath = Vec<String>;

/// All modules of a crate, by path.
pub(crate) type Modules = BTreeMap<ModulePath, Module>;

#[derive(Debug, Default)]
pub(crate) struct Module {
    /// The items that the module itself defines, its child modules included.
    pub(crate) items: BTreeSet<String>,
    /// The names that `use` brings in, and what they stand for; `*` for everything.
    pub(crate) imports: Vec<(String, ModulePath)>,
    pub(crate) mentions: Vec<Mention>,
}

/// A path in the code of a module that begins with `crate`, `super` or `self`.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) path: ModulePath,
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// Reads the crate whose root is `file`; `read` returns a file's text, or `None` if it does not exist.
pub(crate) fn read_crate(file: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<Modules> {
    let mut modules = Modules::new();
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
    let mut pending = vec![(file.to_owned(), directory, ModulePath::new())];
    while let Some((file, directory, path)) = pending.pop() {
        let text = read(&file).with_context(|| format!("cannot read {file}"))?;
        let tokens: Vec<Token<'_>> =
            tokens(&text).into_iter().filter(|token| token.kind != TokenKind::Comment).collect();
        let mut reader =
            FileReader { tokens: &tokens, at: 0, file: &file, modules: &mut modules, files: Vec::new() };
        reader.module(&path);
        for child in reader.files {
            let below =
                [directory.as_str()].into_iter().chain(child.iter().skip(path.len()).map(String::as_str));
            let stem = below.collect::<Vec<_>>().join("/");
            let (flat, nested) = (format!("{stem}.rs"), format!("{stem}/mod.rs"));
            let file = if read(&flat).is_some() { flat } else { nested };
            pending.push((file, stem, child));
        }
    }
    Ok(modules)
}

struct FileReader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    file: &'a str,
    modules: &'a mut Modules,
    /// Modules that have a file of their own.
    files: Vec<ModulePath>,
}

impl<'a> FileReader<'a> {
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn is_word(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| token.kind == TokenKind::Word)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    fn entry(&mut self, path: &[String]) -> &mut Module {
        self.modules.entry(path.to_vec()).or_default()
    }

    /// Reads a module up to its closing brace or the end of the file.
    fn module(&mut self, path: &[String]) {
        self.entry(path);
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "{" => depth += 1,
                "}" if depth == 0 => return,
                "}" => depth -= 1,
                "#" => {
                    self.attribute(path);
                    continue;
                }
                "mod" if self.is_word(1) => {
                    self.child(path);
                    continue;
                }
                "use" if self.peek(1) != "<" => {
                    self.at += 1;
                    self.use_tree(path, &[], depth == 0);
                    continue;
                }
                "crate" | "super" | "self" if self.follows_path(1) => {
                    self.code_path(path);
                    continue;
                }
                "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "fn"
                    if depth == 0 && self.is_word(1) =>
                {
                    let name = self.peek(1).to_owned();
                    self.entry(path).items.insert(name);
                }
                "macro_rules" if self.peek(1) == "!" => {
                    let name = self.peek(2).to_owned();
                    self.entry(path).items.insert(name.clone());
                    if !path.is_empty() {
                        // An exported macro is at the crate's root.
                        let target = path.iter().cloned().chain([name.clone()]).collect();
                        self.entry(&[]).imports.push((name, target));
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn follows_path(&self, ahead: usize) -> bool {
        self.peek(ahead) == ":" && self.peek(ahead + 1) == ":"
    }

    /// Reads `mod name;` or `mod name { … }`.
    fn child(&mut self, path: &[String]) {
        let name = self.peek(1).to_owned();
        let child: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
        self.entry(path).items.insert(name);
        let opens = self.peek(2) == "{";
        self.at += 3;
        if opens {
            self.module(&child);
            self.at += 1;
        } else {
            self.files.push(child);
        }
    }

    /// Reads an attribute. Skips the item after it if only tests compile that item.
    fn attribute(&mut self, path: &[String]) {
        let is_outer = self.peek(1) == "[";
        let begin = self.at;
        while !matches!(self.peek(0), "[" | "") {
            self.at += 1;
        }
        self.skip_group();
        let attribute = self.tokens.get(begin..self.at).unwrap_or_default();
        for token in attribute.iter().filter(|token| token.kind == TokenKind::Text) {
            let words: Vec<&str> = token.text.trim_matches('"').split("::").collect();
            if matches!(words.first(), Some(&("crate" | "super"))) {
                let target = absolute(path, &words);
                self.mention(path, target, token.line);
            }
        }
        let text: String = attribute.iter().map(|token| token.text).collect();
        let is_test = matches!(text.as_str(), "#[cfg(test)]" | "#[cfg(doctest)]" | "#[test]");
        if is_outer && (is_test || text.starts_with("#[cfg(all(test,")) {
            self.skip_item();
        }
    }

    /// Skips brackets, braces or parentheses with all that is in them.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips an item, a statement, a field or a match arm, with the attributes before it.
    fn skip_item(&mut self) {
        while self.peek(0) == "#" {
            self.at += 1;
            self.skip_group();
        }
        while self.at < self.tokens.len() {
            match self.peek(0) {
                ";" | "," => {
                    self.at += 1;
                    return;
                }
                "{" => return self.skip_group(),
                "(" | "[" => self.skip_group(),
                "}" => return,
                _ => self.at += 1,
            }
        }
    }

    /// Reads a path of code such as `crate::event::Event`.
    fn code_path(&mut self, path: &[String]) {
        let line = self.line();
        let mut words = vec![self.peek(0)];
        self.at += 1;
        while self.follows_path(0) && self.is_word(2) {
            words.push(self.peek(2));
            self.at += 3;
        }
        self.mention(path, absolute(path, &words), line);
    }

    /// Reads one branch of a `use` up to the token that ends it.
    fn use_tree(&mut self, path: &[String], prefix: &[&'a str], is_item: bool) {
        let mut words = prefix.to_vec();
        let line = self.line();
        let mut name = "";
        loop {
            match self.peek(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.peek(0), "}" | "") {
                        self.use_tree(path, &words, is_item);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    if self.peek(0) == ";" {
                        self.at += 1;
                    }
                    return;
                }
                "as" => {
                    name = self.peek(1);
                    self.at += 2;
                }
                ":" => self.at += 1,
                "," | "}" | "" => break,
                ";" => {
                    self.at += 1;
                    break;
                }
                word => {
                    // `use a::{self}` imports `a`.
                    if word != "self" || words.is_empty() {
                        words.push(word);
                    }
                    self.at += 1;
                }
            }
        }
        if name.is_empty() {
            name = words.last().copied().unwrap_or_default();
        }
        let is_inside = matches!(words.first(), Some(&("crate" | "super" | "self")));
        let target = if is_inside { absolute(path, &words) } else { local(path, &words) };
        if is_item {
            self.entry(path).imports.push((name.to_owned(), target.clone()));
        }
        if is_inside {
            self.mention(path, target, line);
        }
    }

    fn mention(&mut self, module: &[String], path: ModulePath, line: usize) {
        let mention = Mention { path, file: self.file.to_owned(), line };
        self.entry(module).mentions.push(mention);
    }
}

/// The path from the crate's root of a path that begins with `crate`, `super` or `self`.
fn absolute(module: &[String], words: &[&str]) -> ModulePath {
    let mut path = module.to_vec();
    for word in words {
        match *word {
            "crate" => path.clear(),
            "super" => {
                path.pop();
            }
            "self" => {}
            word => path.push(word.to_owned()),
        }
    }
    path
}

/// The path from the crate's root of a path that begins with a name; a wrong one if it names another crate.
fn local(module: &[String], words: &[&str]) -> ModulePath {
    module.iter().cloned().chain(words.iter().map(|word| (*word).to_owned())).collect()
}
