//! Parses a log of strace into a list of changes to one directory.
//!
//! Reads `strace -f -xx` lines, resolves names and descriptors as they were at that time, and finds the
//! acknowledgements (`ack SEQ ID` on standard output). A call lasts from the line where it starts to the line
//! where it returns; time is counted in lines. Writes through a memory map are not in such a log: a writable
//! map of a file is an error, except for SQLite's `-shm`, which is rebuilt after a reboot.
//! Invariant: anything else about the directory that cannot be parsed is an error, never skipped.

use std::collections::{BTreeMap, HashMap};

use super::recording::{Change, NodeId, Op, ROOT, Recording};

/// The system calls that the log must contain, for `strace -e trace=`.
pub const SYSTEM_CALLS: &str = "open,openat,creat,write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,\
    sync_file_range,ftruncate,truncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,\
    symlinkat,mkdir,mkdirat,close,dup,dup2,dup3,fcntl,lseek,mmap,copy_file_range,sendfile";

#[derive(Debug, Default)]
struct Node {
    /// The names, if it is a directory.
    names: BTreeMap<String, NodeId>,
    is_folder: bool,
    length: u64,
}

#[derive(Clone, Copy, Debug)]
struct OpenFile {
    node: NodeId,
    position: u64,
    appends: bool,
}

impl Recording {
    /// Parses the logs of the processes of a program that works in a directory, in their order.
    ///
    /// # Errors
    /// Fails if a line about the directory cannot be parsed.
    pub fn read<'a>(root: &str, lives: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let folder = Node { is_folder: true, ..Node::default() };
        let mut reader = Reader {
            root: root.trim_end_matches('/'),
            nodes: vec![folder],
            open: HashMap::new(),
            ops: Vec::new(),
        };
        let mut now = 0;
        for life in lives {
            reader.open.clear();
            let mut entered: HashMap<&str, (usize, &str)> = HashMap::new();
            for line in life.lines() {
                now += 1;
                let Some((thread, text)) = line.split_once(' ').map(|(thread, text)| (thread, text.trim()))
                else {
                    continue;
                };
                let read = if let Some(text) = text.strip_suffix("<unfinished ...>") {
                    entered.insert(thread, (now, text));
                    reader.enter(text);
                    Ok(())
                } else if text.starts_with("<... ") {
                    let rest = text.split_once(" resumed>").map_or("", |(_, rest)| rest);
                    match entered.remove(thread) {
                        // Its descriptor has been free for others since the call started.
                        Some((_, text)) if text.starts_with("close(") => Ok(()),
                        Some((begun, text)) => reader.call(&format!("{text}{rest}"), begun, now),
                        None => Err("the call ends but never started".to_owned()),
                    }
                } else {
                    reader.enter(text);
                    reader.call(text, now, now)
                };
                read.map_err(|what| {
                    format!("line {now}: {what}: {}", line.chars().take(200).collect::<String>())
                })?;
            }
        }
        Ok(Self { ops: reader.ops })
    }
}

struct Reader<'a> {
    root: &'a str,
    nodes: Vec<Node>,
    open: HashMap<i64, OpenFile>,
    ops: Vec<Op>,
}

/// A name in the directory, and the node that has it.
struct ResolvedName {
    folder: NodeId,
    name: String,
    node: Option<NodeId>,
}

impl Reader<'_> {
    fn enter(&mut self, text: &str) {
        if let Some(descriptor) = text.strip_prefix("close(") {
            self.open.remove(&number(descriptor).unwrap_or(-1));
        }
    }

    fn call(&mut self, text: &str, begun: usize, ended: usize) -> Result<(), String> {
        let Some((call, result)) = text.rsplit_once(" = ") else { return Ok(()) };
        let Some((name, arguments)) = call.split_once('(') else { return Ok(()) };
        let arguments = arguments.trim_end().trim_end_matches(')');
        let words: Vec<&str> = arguments.split(", ").collect();
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let ours = self.open.get(&number(word(0)).unwrap_or(-1)).copied();
        // A call without a result was cut off by a kill: it did nothing.
        let Some(result) = number(result) else { return Ok(()) };
        if result < 0 {
            if let ("fsync" | "fdatasync", Some(open)) = (name, ours) {
                self.ops.push(Op { begun, ended, change: Change::FailedSync(open.node) });
            }
            return Ok(());
        }
        let mut add = |change| self.ops.push(Op { begun, ended, change });
        match name {
            "open" | "creat" | "openat" => {
                let (at, path, flags) =
                    if name == "openat" { (word(0), word(1), word(2)) } else { ("", word(0), word(1)) };
                let flags = if name == "creat" { "O_CREAT|O_TRUNC" } else { flags };
                return self.handle_open(self.place(at, path)?, flags, result, (begun, ended));
            }
            "write" | "writev" if word(0) == "1" => {
                let said = String::from_utf8_lossy(&quoted(arguments)?).into_owned();
                for line in said.lines() {
                    let mut words = line.split(' ');
                    if let (Some("ack"), Some(seq), Some(id)) = (words.next(), words.next(), words.next()) {
                        let seq = seq.parse().map_err(|_| "an invalid acknowledgement")?;
                        add(Change::Acknowledge { seq, id: id.to_owned() });
                    }
                }
            }
            "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" => {
                let Some(mut open) = ours else { return Ok(()) };
                let mut bytes = quoted(arguments)?;
                let written = usize::try_from(result).map_err(|error| error.to_string())?;
                if bytes.len() < written {
                    return Err("bytes are missing".to_owned());
                }
                bytes.truncate(written);
                let length = self.nodes.get(open.node).map_or(0, |node| node.length);
                let offset = match name {
                    "pwrite64" | "pwritev" => unsigned(words.last().copied().unwrap_or_default())?,
                    "pwritev2" => return Err("not supported".to_owned()),
                    _ if open.appends => length,
                    _ => open.position,
                };
                let end = offset + bytes.len() as u64;
                add(Change::Write { node: open.node, offset, bytes });
                if let Some(node) = self.nodes.get_mut(open.node) {
                    node.length = length.max(end);
                }
                if !name.starts_with('p') {
                    open.position = end;
                    self.open.insert(number(word(0)).unwrap_or(-1), open);
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(open) = ours {
                    add(Change::Sync(open.node));
                }
            }
            "ftruncate" => {
                if let Some(open) = ours {
                    let length = unsigned(word(1))?;
                    add(Change::Truncate { node: open.node, length });
                    if let Some(node) = self.nodes.get_mut(open.node) {
                        node.length = length;
                    }
                }
            }
            "lseek" => {
                let moved = self.open.get_mut(&number(word(0)).unwrap_or(-1));
                if let Some(open) = moved {
                    open.position = u64::try_from(result).unwrap_or_default();
                }
            }
            "mkdir" => self.add_name(self.place("", word(0))?, EnteredNode::Folder, (begun, ended))?,
            "mkdirat" => self.add_name(self.place(word(0), word(1))?, EnteredNode::Folder, (begun, ended))?,
            "link" => {
                let linked = self.place("", word(0))?.and_then(|place| place.node);
                let node = linked.map_or(EnteredNode::File, EnteredNode::Again);
                self.add_name(self.place("", word(1))?, node, (begun, ended))?;
            }
            "linkat" => {
                let linked = self.place(word(0), word(1))?.and_then(|place| place.node);
                let node = linked.map_or(EnteredNode::File, EnteredNode::Again);
                self.add_name(self.place(word(2), word(3))?, node, (begun, ended))?;
            }
            "rename" => {
                self.handle_rename(self.place("", word(0))?, self.place("", word(1))?, (begun, ended))?;
            }
            "renameat" | "renameat2" => {
                let (from, to) = (self.place(word(0), word(1))?, self.place(word(2), word(3))?);
                self.handle_rename(from, to, (begun, ended))?;
            }
            "unlink" | "rmdir" => self.left(self.place("", word(0))?, (begun, ended)),
            "unlinkat" => self.left(self.place(word(0), word(1))?, (begun, ended)),
            "dup" | "dup2" | "dup3" => self.handle_dup(ours, result),
            "fcntl" if word(1).starts_with("F_DUPFD") => self.handle_dup(ours, result),
            "mmap" if word(2).contains("PROT_WRITE") && word(3).contains("MAP_SHARED") => {
                let mapped = self.open.get(&number(word(4)).unwrap_or(-1));
                if mapped.is_some_and(|open| !self.is_shared_memory(open.node)) {
                    return Err("a memory map writes to a file".to_owned());
                }
            }
            "truncate" | "symlink" | "symlinkat" if self.place("", word(0))?.is_some() => {
                return Err("not supported".to_owned());
            }
            "fallocate" | "copy_file_range" | "sendfile" if ours.is_some() => {
                return Err("not supported".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// Resolves a path; `None` if it is outside the directory.
    fn place(&self, at: &str, path: &str) -> Result<Option<ResolvedName>, String> {
        let path = String::from_utf8(quoted(path)?).map_err(|error| error.to_string())?;
        let start = match (path.strip_prefix(self.root), self.open.get(&number(at).unwrap_or(-1))) {
            (Some(rest), _) if rest.is_empty() || rest.starts_with('/') => Some((ROOT, rest)),
            (_, Some(open)) if !path.starts_with('/') => Some((open.node, path.as_str())),
            _ => None,
        };
        let Some((mut folder, rest)) = start else { return Ok(None) };
        let mut steps = rest.split('/').filter(|step| !step.is_empty() && *step != ".").peekable();
        while let Some(step) = steps.next() {
            let node = self.nodes.get(folder).and_then(|folder| folder.names.get(step)).copied();
            if steps.peek().is_none() {
                return Ok(Some(ResolvedName { folder, name: step.to_owned(), node }));
            }
            folder = node.ok_or_else(|| format!("`{step}` does not exist"))?;
        }
        Ok(Some(ResolvedName { folder, name: String::new(), node: Some(folder) }))
    }

    fn handle_open(
        &mut self,
        place: Option<ResolvedName>,
        flags: &str,
        descriptor: i64,
        time: (usize, usize),
    ) -> Result<(), String> {
        self.open.remove(&descriptor);
        let Some(place) = place else { return Ok(()) };
        let node = match place.node {
            Some(node) => node,
            None if flags.contains("O_CREAT") => {
                self.add_name(Some(place), EnteredNode::File, time)?;
                self.nodes.len() - 1
            }
            None => return Err("the opened file does not exist".to_owned()),
        };
        if flags.contains("O_TRUNC") && self.nodes.get(node).is_some_and(|node| node.length > 0) {
            let change = Change::Truncate { node, length: 0 };
            self.ops.push(Op { begun: time.0, ended: time.1, change });
            if let Some(node) = self.nodes.get_mut(node) {
                node.length = 0;
            }
        }
        self.open.insert(descriptor, OpenFile { node, position: 0, appends: flags.contains("O_APPEND") });
        Ok(())
    }

    fn handle_dup(&mut self, from: Option<OpenFile>, to: i64) {
        match from {
            Some(open) => self.open.insert(to, open),
            None => self.open.remove(&to),
        };
    }

    fn add_name(
        &mut self,
        place: Option<ResolvedName>,
        what: EnteredNode,
        time: (usize, usize),
    ) -> Result<(), String> {
        let Some(ResolvedName { folder, name, .. }) = place else { return Ok(()) };
        let is_folder = what == EnteredNode::Folder;
        let node = match what {
            EnteredNode::Again(node) => node,
            EnteredNode::File | EnteredNode::Folder => {
                self.nodes.push(Node { is_folder, ..Node::default() });
                self.nodes.len() - 1
            }
        };
        let parent = self.nodes.get_mut(folder).filter(|parent| parent.is_folder);
        parent.ok_or("its directory is a file")?.names.insert(name.clone(), node);
        let change = Change::Enter { folder, name, node, is_folder };
        self.ops.push(Op { begun: time.0, ended: time.1, change });
        Ok(())
    }

    fn handle_rename(
        &mut self,
        from: Option<ResolvedName>,
        to: Option<ResolvedName>,
        time: (usize, usize),
    ) -> Result<(), String> {
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) => (from, to),
            (None, None) => return Ok(()),
            _ => return Err("a file moves into or out of the directory".to_owned()),
        };
        let node = from.node.ok_or("the renamed file does not exist")?;
        if let Some(folder) = self.nodes.get_mut(from.folder) {
            folder.names.remove(&from.name);
        }
        if let Some(folder) = self.nodes.get_mut(to.folder) {
            folder.names.insert(to.name.clone(), node);
        }
        let change = Change::Move { from: (from.folder, from.name), to: (to.folder, to.name), node };
        self.ops.push(Op { begun: time.0, ended: time.1, change });
        Ok(())
    }

    fn left(&mut self, place: Option<ResolvedName>, time: (usize, usize)) {
        let Some(ResolvedName { folder, name, .. }) = place else { return };
        if let Some(folder) = self.nodes.get_mut(folder) {
            folder.names.remove(&name);
        }
        self.ops.push(Op { begun: time.0, ended: time.1, change: Change::Leave { folder, name } });
    }

    fn is_shared_memory(&self, wanted: NodeId) -> bool {
        let mut names = self.nodes.iter().flat_map(|folder| &folder.names);
        names.any(|(name, node)| *node == wanted && name.ends_with("-shm"))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EnteredNode {
    File,
    Folder,
    /// It already had a name.
    Again(NodeId),
}

/// The number at the start of a text.
fn number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = |from: &str| from.chars().take_while(char::is_ascii_digit).count();
    match text.strip_prefix('-') {
        Some(rest) => text.get(..=digits(rest))?.parse().ok(),
        None => text.get(..digits(text))?.parse().ok(),
    }
}

fn unsigned(text: &str) -> Result<u64, String> {
    number(text)
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| format!("`{text}` is not a size"))
}

/// All bytes between quotes, concatenated; each is written as `\x00`.
fn quoted(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        if at % 2 == 0 {
            if at > 0 && part.starts_with("...") {
                return Err("strace truncated it".to_owned());
            }
            continue;
        }
        for digits in part.split("\\x").skip(1) {
            bytes.push(u8::from_str_radix(digits, 16).map_err(|error| format!("`{digits}`: {error}"))?);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
