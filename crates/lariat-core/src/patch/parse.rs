//! Parses the two patch formats: `*** Begin Patch` and unified diffs.
//!
//! Rejects a patch that two readers could understand differently: a second header, a header out of order,
//! names that contradict each other, a file that is named twice.

use std::collections::HashSet;

use super::{Change, Hunk, Line};

pub(super) fn parse(patch: &str) -> Result<Vec<Change>, String> {
    let patch = patch.replace("\r\n", "\n");
    let lines: Vec<&str> = patch.lines().collect();
    let begins = lines.iter().position(|line| line.trim() == "*** Begin Patch");
    let changes = match begins {
        Some(begin) => sections(&lines, begin + 1)?,
        None if lines.iter().any(|line| line.starts_with("--- ") || line.starts_with("rename from ")) => {
            parse_unified(&lines)?
        }
        None => {
            return Err(
                "it has neither `*** Begin Patch` nor the `--- ` and `+++ ` lines of a unified diff."
                    .to_owned(),
            );
        }
    };
    if changes.is_empty() {
        return Err("it changes no file.".to_owned());
    }
    check_names_unique(&changes)?;
    Ok(changes)
}

/// Rejects a file that is named twice: the second change would apply to a content that the patch was not made
/// from.
fn check_names_unique(changes: &[Change]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for path in changes.iter().flat_map(Change::paths) {
        if path.is_empty() || path == "/dev/null" {
            return Err(format!("`{path}` is not a file name."));
        }
        if !seen.insert(path) {
            return Err(format!(
                "`{path}` occurs in the patch twice. Put all changes of a file into one section."
            ));
        }
    }
    Ok(())
}

/// Parses the format between `*** Begin Patch` and `*** End Patch`.
fn sections(lines: &[&str], begin: usize) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    let mut at = begin;
    loop {
        let Some(line) = lines.get(at) else {
            return Err("`*** End Patch` is missing at its end.".to_owned());
        };
        at += 1;
        if line.trim() == "*** End Patch" {
            return Ok(changes);
        }
        if line.trim().is_empty() {
            continue;
        }
        let body_start = at;
        let is_head = |line: &&&str| {
            line.starts_with("*** ") && line.trim() != "*** End of File" && !line.starts_with("*** Move to: ")
        };
        at += lines.iter().skip(at).take_while(|line| !is_head(line)).count();
        let body = lines.get(body_start..at).unwrap_or_default();
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            let mut text = String::new();
            for (index, line) in body.iter().enumerate() {
                let Some(line) = line.strip_prefix('+') else {
                    return Err(format!(
                        "line {} of an added file must begin with `+`.",
                        body_start + index + 1
                    ));
                };
                text.push_str(line);
                text.push('\n');
            }
            changes.push(Change::Add { path: path.trim().to_owned(), text });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            changes.push(Change::Delete { path: path.trim().to_owned(), hunks: Vec::new() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let (to, rest) = match body.split_first() {
                Some((first, rest)) if first.starts_with("*** Move to: ") => {
                    (first.strip_prefix("*** Move to: ").map(|to| to.trim().to_owned()), rest)
                }
                _ => (None, body),
            };
            let hunks = section_hunks(rest, at - rest.len())?;
            if hunks.is_empty() && to.is_none() {
                return Err(format!("the section of `{}` changes nothing.", path.trim()));
            }
            changes.push(Change::Update { path: path.trim().to_owned(), to, hunks });
        } else {
            return Err(format!(
                "line {body_start}, `{line}`, is not `*** Add File: `, `*** Update File: `, `*** Delete File: ` or `*** End Patch`."
            ));
        }
    }
}

fn section_hunks(body: &[&str], first: usize) -> Result<Vec<Hunk>, String> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut open = Hunk::default();
    let close = |open: &mut Hunk, hunks: &mut Vec<Hunk>| {
        if !open.lines.is_empty() {
            trim_blank_end(open);
            hunks.push(std::mem::take(open));
        }
    };
    for (index, line) in body.iter().enumerate() {
        if let Some(anchor) = line.strip_prefix("@@") {
            close(&mut open, &mut hunks);
            let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
            match header(line) {
                Some((at, _, _)) => open.at = Some(at),
                None if anchor.trim().is_empty() => {}
                None => open.anchors.push(anchor.to_owned()),
            }
        } else if line.trim() == "*** End of File" {
            open.at_end = true;
            close(&mut open, &mut hunks);
        } else if line.starts_with('\\') {
            open.final_newline = Some(!matches!(open.lines.last(), Some(Line::Add(_) | Line::Keep(_))));
        } else {
            open.lines.push(body_line(line).ok_or_else(|| {
                format!("line {} must begin with a space, `+`, `-` or `@@`.", first + index + 1)
            })?);
        }
    }
    close(&mut open, &mut hunks);
    Ok(hunks)
}

/// Removes empty lines at the end of a hunk: they usually separate two sections and are not context.
fn trim_blank_end(hunk: &mut Hunk) {
    while hunk.lines.len() > 1 && hunk.lines.last() == Some(&Line::Keep(String::new())) {
        hunk.lines.pop();
    }
}

fn body_line(line: &str) -> Option<Line> {
    let mut rest = line.chars();
    match rest.next() {
        None => Some(Line::Keep(String::new())),
        Some(' ') => Some(Line::Keep(rest.as_str().to_owned())),
        Some('-') => Some(Line::Remove(rest.as_str().to_owned())),
        Some('+') => Some(Line::Add(rest.as_str().to_owned())),
        Some(_) => None,
    }
}

/// Parses `@@ -1,2 +3,4 @@`: first old line (counted from 0), old and new lengths.
fn header(line: &str) -> Option<(usize, usize, usize)> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((start, old), (_, new)) = (range(old)?, range(new)?);
    // An empty range gives the line before it.
    Some((if old == 0 { start } else { start.saturating_sub(1) }, old, new))
}

/// A partly parsed file of a unified diff.
#[derive(Default)]
struct FileDiff {
    old: Option<String>,
    new: Option<String>,
    from: Option<String>,
    to: Option<String>,
    hunks: Vec<Hunk>,
}

fn parse_unified(lines: &[&str]) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    let mut file = FileDiff::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.starts_with("diff --git ") {
            finish(&mut file, &mut changes)?;
        } else if let Some(name) = line.strip_prefix("--- ") {
            if file.old.is_some() || file.new.is_some() {
                finish(&mut file, &mut changes)?;
            }
            file.old = Some(name_of(name));
        } else if let Some(name) = line.strip_prefix("+++ ") {
            if file.old.is_none() || file.new.is_some() {
                return Err(format!("line {at}, `{line}`, does not follow a line `--- ` of its own."));
            }
            file.new = Some(name_of(name));
        } else if let Some(name) = line.strip_prefix("rename from ") {
            set_header_once(&mut file.from, file.old.is_some(), name, at)?;
        } else if let Some(name) = line.strip_prefix("rename to ") {
            set_header_once(&mut file.to, file.old.is_some(), name, at)?;
        } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return Err(format!("line {at}: copies are not supported. Add the new file instead."));
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(format!("line {at}: binary changes are not supported."));
        } else if line.starts_with("@@") {
            if file.new.is_none() {
                return Err(format!(
                    "line {at}: a hunk must follow the lines `--- ` and `+++ ` of its file."
                ));
            }
            let (hunk, used) = unified_hunk(line, lines.get(at..).unwrap_or_default(), at)?;
            file.hunks.push(hunk);
            at += used;
        }
    }
    finish(&mut file, &mut changes)?;
    Ok(changes)
}

/// Reads the name of a `rename` line, which must occur once and before the `--- ` line.
fn set_header_once(slot: &mut Option<String>, late: bool, name: &str, at: usize) -> Result<(), String> {
    if late || slot.is_some() {
        return Err(format!("line {at}: `rename` must come once, before the line `--- ` of its file."));
    }
    *slot = Some(name_of(name));
    Ok(())
}

/// Parses one hunk after its header and returns the number of lines used. Models often write wrong counts in
/// the header, so the lines themselves decide.
fn unified_hunk(head: &str, rest: &[&str], first: usize) -> Result<(Hunk, usize), String> {
    let Some((start, old, new)) = header(head) else {
        return Err(format!("line {first}, `{head}`, must look like `@@ -1,3 +1,4 @@`."));
    };
    let mut hunk = Hunk { at: Some(start), ..Hunk::default() };
    let (mut old_left, mut new_left) = (old, new);
    let mut used = 0;
    for (index, line) in rest.iter().enumerate() {
        let counted_out = old_left == 0 && new_left == 0;
        let next_file =
            line.starts_with("--- ") && rest.get(index + 1).is_some_and(|line| line.starts_with("+++ "));
        if line.starts_with("@@")
            || line.starts_with("diff --git ")
            || (next_file && (counted_out || !is_removal_of_both(line, old_left)))
        {
            break;
        }
        if line.starts_with('\\') {
            hunk.final_newline = Some(matches!(hunk.lines.last(), Some(Line::Remove(_))));
            used = index + 1;
            continue;
        }
        if counted_out && (line.is_empty() || body_line(line).is_none() || line.starts_with("+++ ")) {
            break;
        }
        let line = body_line(line)
            .ok_or_else(|| format!("line {} must begin with a space, `+` or `-`.", first + index + 1))?;
        if !matches!(line, Line::Add(_)) {
            old_left = old_left.saturating_sub(1);
        }
        if !matches!(line, Line::Remove(_)) {
            new_left = new_left.saturating_sub(1);
        }
        hunk.lines.push(line);
        used = index + 1;
    }
    if old_left > 0 || new_left > 0 {
        trim_blank_end(&mut hunk);
    }
    if hunk.lines.is_empty() {
        return Err(format!("line {first}: the hunk is empty."));
    }
    Ok((hunk, used))
}

/// Returns whether a line that looks like the header of the next file may be the removal of a line `-- …`.
fn is_removal_of_both(line: &str, old_left: usize) -> bool {
    old_left > 0 && line.starts_with("--- ")
}

fn name_of(name: &str) -> String {
    // A tab and a timestamp may follow.
    let name = name.split('\t').next().unwrap_or_default().trim().trim_matches('"');
    name.to_owned()
}

/// Removes the `a/` or `b/` that git puts before a name.
fn plain<'a>(name: &'a str, prefix: &str) -> &'a str {
    name.strip_prefix(prefix).unwrap_or(name)
}

fn finish(file: &mut FileDiff, changes: &mut Vec<Change>) -> Result<(), String> {
    let FileDiff { old, new, from, to, hunks } = std::mem::take(file);
    let renamed = from.is_some() || to.is_some();
    let change = match (old, new, from, to) {
        (None, None, None, None) => return Ok(()),
        (None, None, Some(from), Some(to)) => Change::Update { path: from, to: Some(to), hunks },
        (Some(old), Some(new), from, to) => {
            let prefixed = (old.starts_with("a/") || old == "/dev/null")
                && (new.starts_with("b/") || new == "/dev/null");
            let (a, b) = if prefixed { ("a/", "b/") } else { ("", "") };
            let (old_name, new_name) = (plain(&old, a).to_owned(), plain(&new, b).to_owned());
            if renamed && (from.as_ref() != Some(&old_name) || to.as_ref() != Some(&new_name)) {
                return Err(format!(
                    "the `rename` lines and the lines `--- {old}`, `+++ {new}` name different files."
                ));
            }
            if old == "/dev/null" {
                Change::Add { path: new_name, text: added_text(&hunks)? }
            } else if new == "/dev/null" {
                Change::Delete { path: old_name, hunks }
            } else {
                let to = (new_name != old_name).then_some(new_name);
                Change::Update { path: old_name, to, hunks }
            }
        }
        (Some(name), None, _, _) | (None, Some(name), _, _) => {
            return Err(format!("`{name}` has only one of its lines `--- ` and `+++ `."));
        }
        _ => return Err("a renamed file needs both `rename from` and `rename to`.".to_owned()),
    };
    if let Change::Update { path, to: None, hunks } = &change
        && hunks.is_empty()
    {
        return Err(format!("`{path}` has no hunk (`@@ -1,3 +1,4 @@`)."));
    }
    changes.push(change);
    Ok(())
}

fn added_text(hunks: &[Hunk]) -> Result<String, String> {
    let mut text = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        let Line::Add(line) = line else {
            return Err("an added file (`--- /dev/null`) may only have lines with `+`.".to_owned());
        };
        text.push_str(line);
        text.push('\n');
    }
    if hunks.last().and_then(|hunk| hunk.final_newline) == Some(false) {
        text.pop();
    }
    Ok(text)
}
