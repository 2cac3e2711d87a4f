//! Images that a message mentions as `@picture.png`, and files that are dropped onto the terminal.
//!
//! A draft stays plain text, so that saving, undoing and recalling it needs nothing more. What the mentions name is read
//! when the message leaves. Invariant: a message whose image cannot be attached is not sent.

use lariat_api::{Action, Problem, ProblemCode};
use lariat_core::content::Content;

use crate::machine::Machine;

/// The most images of a message.
const MAX_IMAGES: usize = 20;
/// The ends of file names that are images.
const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// Adds the images that a message mentions. A mention of a file that does not exist stays text.
///
/// # Errors
/// If an image cannot be read, or if the message mentions too many.
pub(crate) async fn attach(action: &mut Action, machine: &dyn Machine) -> Result<(), Problem> {
    let Action::Prompt { content, .. } = action else { return Ok(()) };
    let texts = content.0.iter().filter_map(|block| match block {
        Content::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let paths: Vec<String> = texts.flat_map(mentions).collect();
    if paths.len() > MAX_IMAGES {
        let words = format!("the message mentions {} images; at most {MAX_IMAGES} fit", paths.len());
        return Err(Problem::new(ProblemCode::Invalid, words));
    }
    let mut images: Vec<Content> = Vec::new();
    for path in paths {
        let image = machine.read_image(&path).await?;
        images.extend(image.filter(|image| !images.contains(image)));
    }
    content.0.extend(images);
    Ok(())
}

/// The paths of images that a text mentions: `@picture.png`, or `@"a picture.png"`.
fn mentions(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('@')).map(|at| from + at) {
        from = at + 1;
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(from..).unwrap_or_default());
        // `name@host.png` is not a file.
        let is_mention = !before.ends_with(char::is_alphanumeric);
        let path = mentioned(after);
        if is_mention && is_image(path) {
            paths.push(path.to_owned());
            from += path.len();
        }
    }
    paths
}

/// The path after an `@`.
fn mentioned(text: &str) -> &str {
    if let Some((path, _)) = text.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
        return path;
    }
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    // What closes a sentence is not part of the path.
    word.trim_end_matches(|letter: char| ",;:.!?)]}>'\"`".contains(letter))
}

/// The mention for a file that was dropped onto the terminal, which pastes its path: quoted, with backslashes, or as a
/// URL. `None` if the text is not the absolute path of one image.
pub(crate) fn dropped(pasted: &str) -> Option<String> {
    let pasted = pasted.trim();
    let path = if let Some(url) = pasted.strip_prefix("file://") {
        decoded(url.strip_prefix("localhost").unwrap_or(url))?
    } else if let Some(quoted) = unquoted(pasted) {
        quoted.to_owned()
    } else {
        unescaped(pasted)?
    };
    let is_absolute = path.starts_with('/') || path.starts_with("~/");
    let is_one = !path.contains(|letter: char| letter.is_control() || letter == '"');
    if !is_absolute || !is_one || !is_image(&path) {
        return None;
    }
    Some(written(&path))
}

/// A mention of a path, with a space after it.
pub(crate) fn written(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\" ") } else { format!("@{path} ") }
}

fn is_image(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// A path as a shell would read it; `None` if it is more than one word.
fn unescaped(text: &str) -> Option<String> {
    let mut path = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => path.push(letters.next()?),
            letter if letter.is_whitespace() => return None,
            letter => path.push(letter),
        }
    }
    Some(path)
}

/// A path of a URL without its `%` codes.
fn decoded(url: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(url.len());
    let mut rest = url.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{dropped, mentions};

    #[test]
    fn finds_the_images_that_a_text_mentions() {
        let cases: &[(&str, &[&str])] = &[
            ("look at @a.png", &["a.png"]),
            ("@a.PNG, and (@b/c.jpeg).", &["a.PNG", "b/c.jpeg"]),
            ("@\"my picture.webp\" and @x.gif", &["my picture.webp", "x.gif"]),
            ("mail me@host.png or @src/lib.rs", &[]),
            ("@", &[]),
            ("@\"open.png", &["\"open.png"]),
            ("é@a.png", &[]),
        ];
        for (text, paths) in cases {
            assert_eq!(mentions(text), *paths, "{text}");
        }
    }

    #[test]
    fn a_dropped_image_becomes_a_mention() {
        let cases = [
            ("/tmp/a.png", Some("@/tmp/a.png ")),
            ("'/tmp/my a.png'", Some("@\"/tmp/my a.png\" ")),
            (r"/tmp/my\ a.png ", Some("@\"/tmp/my a.png\" ")),
            ("file:///tmp/%C3%A4.jpg", Some("@/tmp/ä.jpg ")),
            ("file://localhost/tmp/a.gif", Some("@/tmp/a.gif ")),
            ("~/a.webp", Some("@~/a.webp ")),
            ("a.png", None),
            ("/tmp/a.png /tmp/b.png", None),
            ("/tmp/a.rs", None),
            ("/tmp/a\n.png", None),
            ("file:///tmp/%0a.png", None),
            ("file:///tmp/%zz.png", None),
            ("/tmp/a.png\\", None),
        ];
        for (pasted, mention) in cases {
            assert_eq!(dropped(pasted).as_deref(), mention, "{pasted}");
        }
    }
}
