//! Matches the path patterns of `Read(...)`, `Edit(...)` and `Cd(...)` rules, in gitignore syntax.
//!
//! Translates patterns to globs of absolute paths. A pattern starts at the root (`//x`), at the home directory (`~/x`), at
//! the directory of its settings file (`/x`), or at the working directory (`x`, `./x`).
//!
//! Where the meaning is ambiguous, an allow rule gets the narrow one and a deny or ask rule the wide one. An allow rule
//! must match every form of a path (as named, and with links resolved); for a deny or ask rule one form is enough,
//! ignoring case, because some file systems ignore case.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::effect::Effect;
use crate::origin::{Level, Origin};
use crate::resolve::{ResolvedPath, Resolver, SessionDirectories, expand_home, normalize};

/// Maximum bytes of a pattern; longer ones are rejected, because the size of the compiled automaton has no other bound.
const MAX_PATTERN_BYTES: usize = 1024;

/// The patterns of one list of rules, each with the index of its rule.
pub(crate) struct PathRules {
    /// One automaton for all patterns; one per pattern if that would be too large, so that no pattern can disable another.
    sets: Vec<(GlobSet, Vec<usize>)>,
    effect: Effect,
    /// Where matching files can lie: the part of each pattern before its first wildcard.
    starts: Vec<PathBuf>,
}

impl PathRules {
    /// Compiles patterns. Also returns the indices of those that are invalid.
    pub(crate) fn new<'a>(
        effect: Effect,
        patterns: impl Iterator<Item = (usize, &'a str, &'a Origin)>,
        places: &SessionDirectories,
        resolver: &dyn Resolver,
    ) -> (Self, Vec<usize>) {
        let mut all: Vec<(usize, Glob)> = Vec::new();
        let mut broken = Vec::new();
        let mut starts: Vec<PathBuf> = Vec::new();
        for (number, pattern, origin) in patterns {
            if pattern.len() > MAX_PATTERN_BYTES {
                broken.push(number);
                continue;
            }
            for glob in globs(pattern, effect, origin, places, resolver) {
                let made = GlobBuilder::new(&glob)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .case_insensitive(effect != Effect::Allow)
                    .build();
                match made {
                    Ok(made) => {
                        starts.push(start(&glob));
                        all.push((number, made));
                    }
                    Err(_) => broken.push(number),
                }
            }
        }
        let sets = match set(&all) {
            Some(whole) => vec![whole],
            None => {
                let mut each = Vec::with_capacity(all.len());
                for one in all.chunks(1) {
                    match set(one) {
                        Some(set) => each.push(set),
                        None => broken.extend(one.iter().map(|(number, _)| *number)),
                    }
                }
                each
            }
        };
        starts.sort();
        starts.dedup();
        let inner = |path: &PathBuf| starts.iter().any(|other| other != path && path.starts_with(other));
        let starts = starts.iter().filter(|path| !inner(path)).cloned().collect();
        (Self { sets, effect, starts }, broken)
    }

    /// The directories and files that contain everything that a pattern may match; none lies inside another.
    pub(crate) fn starts(&self) -> &[PathBuf] {
        &self.starts
    }

    /// Whether a pattern matches an absolute path as written.
    pub(crate) fn fits(&self, path: &Path) -> bool {
        self.matching_rule(path).is_some()
    }

    /// Returns the index of a rule that matches a file, if any.
    pub(crate) fn find(&self, target: &ResolvedPath) -> Option<usize> {
        if self.effect != Effect::Allow {
            return target.forms().find_map(|form| self.matching_rule(form));
        }
        target.real.as_ref()?;
        let mut forms = target.forms();
        let first = self.matching_rule(forms.next()?)?;
        forms.all(|form| self.matching_rule(form).is_some()).then_some(first)
    }

    fn matching_rule(&self, path: &Path) -> Option<usize> {
        self.sets.iter().find_map(|(set, rules)| {
            let glob = set.matches(path).first().copied()?;
            rules.get(glob).copied()
        })
    }

    /// Whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.iter().all(|(set, _)| set.is_empty())
    }
}

/// Whether a pattern can be compiled, wherever it starts.
pub(crate) fn is_valid(pattern: &str) -> bool {
    let glob = |body: &str| {
        let glob = GlobBuilder::new(body).literal_separator(true).backslash_escape(true).build().ok()?;
        set(&[(0, glob)])
    };
    pattern.len() <= MAX_PATTERN_BYTES && glob(&escaped(pattern, '{', '}')).is_some()
}

/// Compiles globs to one automaton; `None` if it would be too large.
fn set(globs: &[(usize, Glob)]) -> Option<(GlobSet, Vec<usize>)> {
    let mut builder = GlobSetBuilder::new();
    for (_, glob) in globs {
        builder.add(glob.clone());
    }
    let rules = globs.iter().map(|(number, _)| *number).collect();
    Some((builder.build().ok()?, rules))
}

/// Returns the part of a glob before its first wildcard.
fn start(glob: &str) -> PathBuf {
    let glob = glob.strip_suffix("/**").unwrap_or(glob);
    let plain = glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\']));
    let plain: Vec<&str> = plain.collect();
    PathBuf::from(format!("/{}", plain.join("/").trim_start_matches('/')))
}

/// Where a pattern starts.
struct Anchor<'a> {
    base: PathBuf,
    body: &'a str,
    /// The body starts exactly at `base`, not at any depth below.
    is_fixed: bool,
}

fn anchor<'a>(pattern: &'a str, origin: &Origin, places: &SessionDirectories) -> Anchor<'a> {
    let fixed =
        |base: PathBuf, body: &'a str| Anchor { base, body: body.trim_start_matches('/'), is_fixed: true };
    if pattern.starts_with("//") {
        return fixed(PathBuf::from("/"), pattern);
    }
    if expand_home(pattern, &places.home).is_some() {
        return fixed(places.home.clone(), pattern.get(1..).unwrap_or_default());
    }
    if pattern.starts_with('/') {
        return fixed(source(origin, places), pattern);
    }
    let (body, is_fixed) = match pattern.strip_prefix("./") {
        Some(body) => (body, true),
        None => (pattern, false),
    };
    Anchor { base: places.directory.clone(), body, is_fixed }
}

/// Returns the directory that `/x` is relative to.
fn source(origin: &Origin, places: &SessionDirectories) -> PathBuf {
    match origin.level {
        Level::Project | Level::Local => directory_of(origin).unwrap_or_else(|| places.project.clone()),
        Level::User => places.home.join(".claude"),
        Level::Flags | Level::Environment => places.directory.clone(),
        Level::Managed => {
            let file = origin.file.as_deref().and_then(Path::parent);
            file.map_or_else(|| places.directory.clone(), Path::to_owned)
        }
    }
}

/// Returns the directory that a project settings file applies to: its own, or the parent of its `.claude`.
fn directory_of(origin: &Origin) -> Option<PathBuf> {
    let folder = origin.file.as_deref()?.parent()?;
    let is_claude = folder.file_name().is_some_and(|name| name == ".claude");
    let directory = if is_claude { folder.parent()? } else { folder };
    directory.is_absolute().then(|| directory.to_owned())
}

fn globs(
    pattern: &str,
    effect: Effect,
    origin: &Origin,
    places: &SessionDirectories,
    resolver: &dyn Resolver,
) -> Vec<String> {
    let Anchor { mut base, mut body, mut is_fixed } = anchor(pattern.trim(), origin, places);
    while let Some(rest) = body.strip_prefix("../").or_else(|| (body == "..").then_some("")) {
        base.pop();
        body = rest;
        is_fixed = true;
    }
    let wide = effect != Effect::Allow;
    let only_directories = body.ends_with('/');
    let body = body.trim_end_matches('/');
    let body = if body == "." { "" } else { body };
    let at_any_depth = match (wide, is_fixed) {
        // `/x`, `//x` and `~/x` give the place; `x` and `./x` do not, in a deny or ask rule.
        (true, _) => !pattern.starts_with(['/', '~']) && !pattern.starts_with(".."),
        (false, true) => false,
        (false, false) => !body.contains('/'),
    };
    let mut bodies = vec![escaped(body, '{', '}')];
    if wide && body.contains('{') {
        bodies.push(body.to_owned());
    }
    let mut bases = vec![normalize(&base)];
    bases.extend(resolver.real(&base).filter(|real| *real != base));
    let mut globs = Vec::new();
    for base in &bases {
        let base = globset::escape(&base.to_string_lossy());
        let base = base.trim_end_matches('/');
        for body in &bodies {
            let start = match (body.as_str(), at_any_depth) {
                ("", _) => base.to_owned(),
                (body, true) => format!("{base}/**/{body}"),
                (body, false) => format!("{base}/{body}"),
            };
            let ends_open = body.rsplit('/').next().is_some_and(|last| last.contains(['*', '?', '[']));
            if wide || !ends_open {
                globs.push(format!("{start}/**"));
            }
            if wide || !only_directories {
                globs.push(if start.is_empty() { "/".to_owned() } else { start.clone() });
            }
            if let Some(directory) = start.strip_suffix("/**").filter(|_| wide) {
                globs.push(if directory.is_empty() { "/".to_owned() } else { directory.to_owned() });
            }
        }
    }
    globs
}

/// Escapes braces, which have no special meaning in gitignore.
fn escaped(body: &str, open: char, close: char) -> String {
    let mut text = String::with_capacity(body.len());
    for letter in body.chars() {
        if letter == open || letter == close {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::PathRules;
    use crate::effect::Effect;
    use crate::origin::{Level, Origin};
    use crate::resolve::{NoLinks, ResolvedPath, SessionDirectories};

    fn target(path: &str) -> ResolvedPath {
        ResolvedPath::of_opened_file(Path::new(path))
    }

    fn rules(patterns: &[String]) -> (PathRules, Vec<usize>) {
        let origin = Origin::file(Level::Project, "/people/u/p/.claude/settings.json");
        let numbered =
            patterns.iter().enumerate().map(|(number, pattern)| (number, pattern.as_str(), &origin));
        PathRules::new(Effect::Deny, numbered, &SessionDirectories::new("/people/u/p", "/people/u"), &NoLinks)
    }

    #[test]
    fn oversized_patterns_do_not_disable_the_others() {
        let mut patterns = vec![".env".to_owned(), "x".repeat(5_000)];
        patterns.extend((0..240).map(|index| format!("{}{index}", "?*[a-zA-Zäöü]*[!q]".repeat(45))));
        let (rules, broken) = rules(&patterns);
        assert_eq!(rules.find(&target("/people/u/p/a/.env")), Some(0));
        assert_eq!(rules.find(&target("/people/u/p/a")), None);
        assert!(broken.contains(&1), "reports that a pattern is too long");
        assert!(
            rules.sets.len() > 1,
            "the patterns of this test are too few to need more than one automaton"
        );
    }

    #[test]
    fn nothing_matches_without_rules() {
        let (rules, broken) = rules(&[]);
        assert!(rules.is_empty() && broken.is_empty());
        assert_eq!(rules.find(&target("/people/u/p/a")), None);
    }
}
