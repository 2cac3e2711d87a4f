//! Path patterns of `Read(...)`, `Edit(...)` and `Cd(...)` rules, in the syntax of gitignore.
//!
//! Owns the translation into globs of absolute paths and the two directions of matching. A pattern begins at `/` (`//x`),
//! at home (`~/x`), at the place of its settings (`/x`), or at the working directory (`x`, `./x`).
//!
//! Invariant: where the meaning differs, a rule that allows gets the narrow one and a rule that denies or asks the wide
//! one. To allow, every form of a path (as named, and where it leads) must fit; to deny, one is enough, in any case of
//! letters, because some file systems do not tell them apart.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::origin::{Level, Origin};
use crate::place::{Places, Resolver, Target, at_home, plain};
use crate::rule::Effect;

/// The patterns of one list, each with the number of its rule.
pub(crate) struct PathRules {
    set: GlobSet,
    /// The rule of each glob.
    rules: Vec<usize>,
    effect: Effect,
}

impl PathRules {
    /// Compiles patterns. Those that cannot be are given back by number.
    pub(crate) fn new<'a>(
        effect: Effect,
        patterns: impl Iterator<Item = (usize, &'a str, &'a Origin)>,
        places: &Places,
        resolver: &dyn Resolver,
    ) -> (Self, Vec<usize>) {
        let mut builder = GlobSetBuilder::new();
        let mut rules = Vec::new();
        let mut broken = Vec::new();
        for (number, pattern, origin) in patterns {
            let globs = globs(pattern, effect, origin, places, resolver);
            let mut fits = !globs.is_empty();
            for glob in globs {
                let made = GlobBuilder::new(&glob)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .case_insensitive(effect != Effect::Allow)
                    .build();
                match made {
                    Ok(glob) => {
                        builder.add(glob);
                        rules.push(number);
                    }
                    Err(_) => fits = false,
                }
            }
            if !fits {
                broken.push(number);
            }
        }
        let set = builder.build().unwrap_or_else(|_| {
            broken.extend(&rules);
            GlobSet::empty()
        });
        (Self { set, rules, effect }, broken)
    }

    /// The rule that fits a file, if any does.
    pub(crate) fn find(&self, target: &Target) -> Option<usize> {
        if self.rules.is_empty() {
            return None;
        }
        let mut fitting = target.forms().map(|form| self.set.matches(form));
        let fitting = if self.effect == Effect::Allow {
            target.real.as_ref()?;
            let first = fitting.next()?;
            fitting.all(|other| !other.is_empty()).then_some(first)?
        } else {
            fitting.flatten().collect()
        };
        fitting.first().and_then(|glob| self.rules.get(*glob)).copied()
    }

    /// True without a rule.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// Where a pattern begins.
struct Anchor<'a> {
    base: PathBuf,
    body: &'a str,
    /// The body begins right there, not at any depth below.
    is_fixed: bool,
}

fn anchor<'a>(pattern: &'a str, origin: &Origin, places: &Places) -> Anchor<'a> {
    let fixed =
        |base: PathBuf, body: &'a str| Anchor { base, body: body.trim_start_matches('/'), is_fixed: true };
    if pattern.starts_with("//") {
        return fixed(PathBuf::from("/"), pattern);
    }
    if at_home(pattern, &places.home).is_some() {
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

/// What `/x` is relative to.
fn source(origin: &Origin, places: &Places) -> PathBuf {
    match origin.level {
        Level::Project | Level::Local => places.project.clone(),
        Level::User => places.home.join(".claude"),
        Level::Flags => places.directory.clone(),
        Level::Managed => {
            let file = origin.file.as_deref().and_then(Path::parent);
            file.map_or_else(|| places.directory.clone(), Path::to_owned)
        }
    }
}

fn globs(
    pattern: &str,
    effect: Effect,
    origin: &Origin,
    places: &Places,
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
        // `/x`, `//x` and `~/x` say where; `x` and `./x` do not, to deny.
        (true, _) => !pattern.starts_with(['/', '~']) && !pattern.starts_with(".."),
        (false, true) => false,
        (false, false) => !body.contains('/'),
    };
    let mut bodies = vec![escaped(body, '{', '}')];
    if wide && body.contains('{') {
        bodies.push(body.to_owned());
    }
    let mut bases = vec![plain(&base)];
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

/// Gitignore knows no alternatives: braces stand for themselves.
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
