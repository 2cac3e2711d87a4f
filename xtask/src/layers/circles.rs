//! Finds circles between the top-level modules of a crate.
//!
//! A name that the crate's root re-exports belongs to the module that defines it, so no circle hides behind the root.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::{Mention, Modules};

/// Modules of a crate that may use each other.
pub(crate) struct Exception {
    pub(crate) package: &'static str,
    pub(crate) modules: &'static [&'static str],
    pub(crate) reason: &'static str,
}

/// Which top-level module uses which, with one place for each pair.
pub(crate) struct ModuleGraph<'a> {
    edges: BTreeMap<&'a str, BTreeMap<&'a str, &'a Mention>>,
    /// What could not be followed.
    unknown: Vec<String>,
}

impl<'a> ModuleGraph<'a> {
    pub(crate) fn of(modules: &'a Modules) -> Self {
        let mut graph = Self { edges: BTreeMap::new(), unknown: Vec::new() };
        for (path, module) in modules {
            // What the root itself mentions makes no edge.
            let Some(from) = path.first() else { continue };
            graph.edges.entry(from).or_default();
            for mention in &module.mentions {
                match home(modules, &mention.path, 0) {
                    Home::Module(to) if to == from => {}
                    Home::Module(to) => {
                        graph.edges.entry(from).or_default().entry(to).or_insert(mention);
                    }
                    Home::Root => {}
                    Home::Unknown => graph.unknown.push(format!(
                        "{}:{}: cannot find where `crate::{}` is defined; name the module that defines it",
                        mention.file,
                        mention.line,
                        mention.path.join("::")
                    )),
                }
            }
        }
        graph
    }

    pub(crate) fn modules(&self) -> usize {
        self.edges.len()
    }

    /// One message for each group of modules that use each other, with the shortest circle in it.
    pub(crate) fn violations(&self, name: &str, exceptions: &[Exception]) -> Vec<String> {
        let mut violations = self.unknown.clone();
        let exceptions = exceptions.iter().filter(|exception| exception.package == name);
        let mut groups = self.groups();
        for Exception { modules, reason, .. } in exceptions {
            let members = modules.iter().copied().collect();
            if reason.is_empty() {
                violations.push(format!(
                    "the exception for `{}` of `{name}` has no reason; write one",
                    modules.join("`, `")
                ));
            }
            match groups.iter().position(|group| *group == members) {
                Some(index) => drop(groups.swap_remove(index)),
                None => violations.push(format!(
                    "the modules `{}` of `{name}` are an exception but not a circle; delete or adjust the exception",
                    modules.join("`, `")
                )),
            }
        }
        violations.extend(groups.iter().map(|group| {
            let circle = self.shortest_circle(group);
            let mut message = format!("the modules `{}` of `{name}` use each other:", circle.join("` → `"));
            for (from, to) in circle.iter().zip(circle.iter().skip(1)) {
                if let Some(mention) = self.edges.get(from).and_then(|edges| edges.get(to)) {
                    let path = mention.path.join("::");
                    message += &format!("\n      {}:{} uses `crate::{path}`", mention.file, mention.line);
                }
            }
            if group.len() + 1 > circle.len() {
                let members = group.iter().copied().collect::<Vec<_>>().join("`, `");
                message += &format!("\n      longer circles connect `{members}`");
            }
            message += "\n    move what both need to a module below them, or make one concept one folder";
            message
        }));
        violations
    }

    /// The sets of modules of which each reaches each other one.
    pub(crate) fn groups(&self) -> Vec<BTreeSet<&'a str>> {
        let mut groups: Vec<BTreeSet<&str>> = Vec::new();
        for from in self.edges.keys().copied() {
            if groups.iter().any(|group| group.contains(from)) {
                continue;
            }
            let group: BTreeSet<&str> =
                self.reached(from).into_iter().filter(|to| self.reached(to).contains(from)).collect();
            if !group.is_empty() {
                groups.push(group);
            }
        }
        groups
    }

    fn reached(&self, from: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut pending = vec![from];
        while let Some(module) = pending.pop() {
            for to in self.edges.get(module).into_iter().flat_map(|edges| edges.keys().copied()) {
                if reached.insert(to) {
                    pending.push(to);
                }
            }
        }
        reached
    }

    /// Begins and ends with the same module.
    fn shortest_circle(&self, group: &BTreeSet<&'a str>) -> Vec<&'a str> {
        let circles = group.iter().filter_map(|start| self.circle_through(start));
        circles.min_by_key(Vec::len).unwrap_or_default()
    }

    fn circle_through(&self, start: &'a str) -> Option<Vec<&'a str>> {
        let mut pending = VecDeque::from([vec![start]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = pending.pop_front() {
            let last = *way.last()?;
            for to in self.edges.get(last)?.keys().copied() {
                let longer: Vec<&str> = way.iter().copied().chain([to]).collect();
                if to == start {
                    return Some(longer);
                }
                if seen.insert(to) {
                    pending.push_back(longer);
                }
            }
        }
        None
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Home<'a> {
    /// A top-level module.
    Module(&'a str),
    /// The root itself, or another crate.
    Root,
    Unknown,
}

/// Re-exports of re-exports end somewhere; a loop of them does not compile.
const MOST_REEXPORTS: usize = 16;

/// The top-level module that a path from the root leads to.
fn home<'a>(modules: &'a Modules, path: &[String], depth: usize) -> Home<'a> {
    let Some(root) = modules.get(&[] as &[String]).filter(|_| depth < MOST_REEXPORTS) else {
        return Home::Unknown;
    };
    let Some(first) = path.first() else { return Home::Root };
    if let Some((module, _)) = modules.get_key_value(std::slice::from_ref(first)) {
        return module.first().map_or(Home::Root, |name| Home::Module(name));
    }
    if root.items.contains(first) {
        return Home::Root;
    }
    if let Some((_, target)) = root.imports.iter().find(|(name, _)| name == first) {
        // Another crate, imported under its own name.
        if target.as_slice() == std::slice::from_ref(first) {
            return Home::Root;
        }
        // A path that begins with another crate's name.
        let is_own =
            target.first().is_some_and(|head| root.items.contains(head) || imports(modules, &[], head));
        return if is_own { home(modules, target, depth + 1) } else { Home::Root };
    }
    for (_, target) in root.imports.iter().filter(|(name, _)| name == "*") {
        let module = target.strip_suffix(&["*".to_owned()]).unwrap_or(target);
        let provides = modules.get(module).is_some_and(|module| module.items.contains(first));
        if provides || imports(modules, module, first) {
            return home(modules, module, depth + 1);
        }
    }
    Home::Unknown
}

fn imports(modules: &Modules, module: &[String], name: &str) -> bool {
    modules.get(module).is_some_and(|module| module.imports.iter().any(|(import, _)| import == name))
}

#[cfg(test)]
#[path = "circles_tests.rs"]
mod tests;
