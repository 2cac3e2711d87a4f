//! Which operations become tools.

/// Selects operations. All of them can be tools, also those without an `operationId`, whose id is made of method and path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationFilter {
    /// Every operation.
    #[default]
    All,
    /// Operations with one of these ids.
    ByOperationId(Vec<String>),
    /// Operations with one of these tags.
    ByTag(Vec<String>),
    /// Operations whose path starts with this text.
    ByPathPrefix(String),
    /// Operations that match a pattern of `include`, or any if it is empty, and no pattern of `exclude`.
    ///
    /// A pattern is `tag:NAME`, a path (`/pets*`), a method and a path (`GET /pets*`), or an operation id (`list*`). `*`
    /// stands for any text.
    Matching {
        /// Patterns of operations to offer; all if empty.
        include: Vec<String>,
        /// Patterns of operations to leave out.
        exclude: Vec<String>,
    },
}

/// What a filter sees of an operation.
pub(super) struct FilterSubject<'a> {
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) tags: &'a [&'a str],
}

impl OperationFilter {
    pub(super) fn selects(&self, subject: &FilterSubject<'_>) -> bool {
        match self {
            Self::All => true,
            Self::ByOperationId(ids) => ids.iter().any(|id| id == subject.id),
            Self::ByTag(tags) => tags.iter().any(|tag| subject.tags.contains(&tag.as_str())),
            Self::ByPathPrefix(prefix) => subject.path.starts_with(prefix.as_str()),
            Self::Matching { include, exclude } => {
                let matches = |patterns: &[String]| patterns.iter().any(|pattern| subject.matches(pattern));
                (include.is_empty() || matches(include)) && !matches(exclude)
            }
        }
    }
}

impl FilterSubject<'_> {
    fn matches(&self, pattern: &str) -> bool {
        let pattern = pattern.trim();
        if let Some(tag) = pattern.strip_prefix("tag:") {
            return self.tags.iter().any(|own| is_match(tag, own));
        }
        match pattern.split_once(' ') {
            Some((method, path)) => {
                method.eq_ignore_ascii_case(self.method) && is_match(path.trim_start(), self.path)
            }
            None if pattern.starts_with('/') => is_match(pattern, self.path),
            None => is_match(pattern, self.id),
        }
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn is_match(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts = rest.split('*');
    let Some(end) = parts.next_back() else { return true };
    for part in parts {
        match text.find(part) {
            Some(at) => text = text.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_ids_paths_methods_and_tags() {
        let subject =
            FilterSubject { id: "pets/list", method: "GET", path: "/pets/{id}", tags: &["pets", "all"] };
        for pattern in ["pets/*", "*list", "p*s*t", "tag:pets", "tag:p*", "/pets*", "GET /pets*", "get /*"] {
            assert!(subject.matches(pattern), "{pattern}");
        }
        for pattern in ["pets", "list", "tag:pet", "/pet", "POST /pets*", "*x", "pets/list*t"] {
            assert!(!subject.matches(pattern), "{pattern}");
        }
        let filter = OperationFilter::Matching {
            include: vec!["tag:pets".to_owned()],
            exclude: vec!["GET *".to_owned()],
        };
        assert!(!filter.selects(&subject), "exclude wins");
    }
}
