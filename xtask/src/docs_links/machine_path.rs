//! Finds absolute paths of a developer's machine: a home directory, root's home or a mounted work directory.
//!
//! `/home/` alone and a placeholder such as `/home/<name>/` are allowed, because they identify no user.

/// Top-level directories that are personal as a whole.
const PERSONAL: &[&str] = &["root", "work"];

/// Returns line number and path prefix of each machine path in `text`.
pub(crate) fn find(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (at, _) in line.match_indices('/') {
            let (before, from) = line.split_at(at);
            if !before.ends_with(is_path_character)
                && let Some(path) = personal_prefix(from)
            {
                found.push((number, path));
            }
        }
    }
    found
}

/// After one of these characters, a slash is the middle of a relative path or of a URL.
fn is_path_character(c: char) -> bool {
    c.is_alphanumeric() || "_-./~}>)*$".contains(c)
}

fn personal_prefix(path: &str) -> Option<String> {
    let mut parts = path.split('/').skip(1);
    let first = parts.next()?;
    let second = parts.next()?;
    if PERSONAL.contains(&first) {
        return Some(format!("/{first}/"));
    }
    let names_a_user = !second.is_empty() && second.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    (first == "home" && names_a_user && parts.next().is_some()).then(|| format!("/home/{second}/"))
}

#[cfg(test)]
mod tests {
    use super::find;

    /// Assembled from parts, so that this file passes its own check.
    fn home(rest: &str) -> String {
        ["", "home", rest].join("/")
    }

    #[test]
    fn finds_personal_directories_with_their_line() {
        for name in ["root", "work"] {
            let text = format!("fine\nlook in `/{name}/notes.md`\n");
            assert_eq!(find(&text), [(2, format!("/{name}/"))]);
        }
        let text = format!("path = \"{}\"", home("ada/x.rs"));
        assert_eq!(find(&text), [(1, home("ada/"))]);
    }

    #[test]
    fn accepts_relative_paths_urls_and_placeholders() {
        let name = "work";
        for text in [
            format!("src/{name}/mod.rs"),
            format!("https://example.com/{name}/1"),
            format!("~/{name}/x"),
            home("<name>/x"),
            home("ada"),
            format!("and/or /{name}"),
        ] {
            assert_eq!(find(&text), [], "{text}");
        }
    }
}
