//! Turns unified diffs into the form of the protocol: for each hunk, the text before and after.

use std::path::Path;

use crate::wire::{Location, ToolContent};

/// The changes of a unified diff, one for each hunk, with the place of each. Paths are relative to `directory`.
///
/// Lines outside hunks are ignored, so a summary before the diff does no harm.
pub(crate) fn changes(diff: &str, directory: &Path) -> Vec<(ToolContent, Location)> {
    let mut changes = Vec::new();
    let (mut path, mut hunk) = (String::new(), None::<Hunk>);
    for line in diff.lines() {
        if let Some(open) = &mut hunk
            && open.take(line)
        {
            continue;
        }
        changes.extend(hunk.take().and_then(|hunk| hunk.finish(&path, directory)));
        if let Some(name) = line.strip_prefix("+++ ") {
            name.strip_prefix("b/").unwrap_or(name).clone_into(&mut path);
        } else {
            hunk = Hunk::begin(line);
        }
    }
    changes.extend(hunk.and_then(|hunk| hunk.finish(&path, directory)));
    changes
}

/// A hunk that is being read.
struct Hunk {
    /// The lines as they are in the diff.
    raw: String,
    old: String,
    new: String,
    /// Lines that each side still has.
    old_left: usize,
    new_left: usize,
    is_new_file: bool,
    /// The first line of the new side, from 1.
    line: u32,
    /// Which sides the last line belongs to.
    last: (bool, bool),
}

impl Hunk {
    /// Reads `@@ -1,2 +3,4 @@`.
    fn begin(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let ((old_start, old_left), (new_start, new_left)) = (range(old)?, range(new)?);
        Some(Self {
            raw: format!("{line}\n"),
            old: String::new(),
            new: String::new(),
            old_left,
            new_left,
            is_new_file: old_start == 0 && old_left == 0,
            line: u32::try_from(new_start).unwrap_or(u32::MAX).max(1),
            last: (false, false),
        })
    }

    /// Takes a line of the hunk. Returns whether it was one.
    fn take(&mut self, line: &str) -> bool {
        let (sign, text) = (line.chars().next(), line.get(1..).unwrap_or_default());
        self.last = match sign {
            Some('\\') => {
                // "\ No newline at end of file" is about the line before it.
                for (side, is_last) in [(&mut self.old, self.last.0), (&mut self.new, self.last.1)] {
                    if is_last && side.ends_with('\n') {
                        side.pop();
                    }
                }
                self.keep(line);
                return true;
            }
            Some(' ') if self.old_left > 0 && self.new_left > 0 => (true, true),
            Some('-') if self.old_left > 0 => (true, false),
            Some('+') if self.new_left > 0 => (false, true),
            _ => return false,
        };
        self.keep(line);
        for (side, left, is_in) in [
            (&mut self.old, &mut self.old_left, self.last.0),
            (&mut self.new, &mut self.new_left, self.last.1),
        ] {
            if is_in {
                side.push_str(text);
                side.push('\n');
                *left = left.saturating_sub(1);
            }
        }
        true
    }

    fn keep(&mut self, line: &str) {
        self.raw.push_str(line);
        self.raw.push('\n');
    }

    fn finish(self, path: &str, directory: &Path) -> Option<(ToolContent, Location)> {
        if path.is_empty() {
            return None;
        }
        let path = directory.join(path).display().to_string();
        let location = Location { path: path.clone(), line: Some(self.line) };
        let old_text = (!self.is_new_file).then_some(self.old);
        Some((ToolContent::Diff { path, old_text, new_text: self.new, hunk: self.raw }, location))
    }
}

/// Reads `start,count`; a count of 1 is left out.
fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::changes;
    use crate::wire::{Location, ToolContent};

    /// The changes in the form of version 1, which has no hunks.
    fn parsed(diff: &str) -> Vec<(ToolContent, Location)> {
        let mut changes = changes(diff, Path::new("/project"));
        for (change, _) in &mut changes {
            if let ToolContent::Diff { hunk, .. } = change {
                assert!(hunk.starts_with("@@ -"), "{hunk}");
                hunk.clear();
            }
        }
        changes
    }

    fn change(path: &str, line: u32, old: Option<&str>, new: &str) -> (ToolContent, Location) {
        let diff = ToolContent::Diff {
            path: path.to_owned(),
            old_text: old.map(str::to_owned),
            new_text: new.to_owned(),
            hunk: String::new(),
        };
        (diff, Location { path: path.to_owned(), line: Some(line) })
    }

    #[test]
    fn each_hunk_is_a_change_with_its_place() {
        let diff = "M a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n@@ -9 +9,2 @@\n-n\n\\ No newline at end of file\n+n\n+m\n\
                    --- a/s/b\n+++ b/s/b\n@@ -0,0 +1 @@\n+new\n";
        let expected = [
            change("/project/a", 1, Some("x\ny\n"), "x\nz\n"),
            change("/project/a", 9, Some("n"), "n\nm\n"),
            change("/project/s/b", 1, None, "new\n"),
        ];
        assert_eq!(parsed(diff), expected);
    }

    #[test]
    fn lines_that_look_like_headers_belong_to_their_hunk() {
        let diff = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n--- b/x\n+++ c\n-@@ -1 +1 @@\n+d\n";
        assert_eq!(parsed(diff), [change("/project/a", 1, Some("-- b/x\n@@ -1 +1 @@\n"), "++ c\nd\n")]);
    }

    #[test]
    fn a_cut_or_broken_diff_gives_what_can_be_read() {
        let cut = "--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n x\n-y\n\n[… diff cut here]\n";
        assert_eq!(parsed(cut), [change("/project/a", 1, Some("x\ny\n"), "x\n")]);
        for broken in ["", "@@ -1 +1 @@\n+x\n", "+++ b/a\n@@ -x +1 @@\n+x\n", "\u{e9}\n"] {
            assert_eq!(parsed(broken), [], "{broken}");
        }
        assert_eq!(
            parsed("--- a/a\n+++ b/a\n@@ -1,2 +0,0 @@\n-a\n-b\n"),
            [change("/project/a", 1, Some("a\nb\n"), "")]
        );
    }
}
