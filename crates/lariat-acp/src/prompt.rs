//! Turns the prompt of an editor into a message of the user.
//!
//! Text and mentions stay in their order and become one text. Files that the editor embeds follow it, each in its own
//! block, and images come last.

use std::path::{Path, PathBuf};

use lariat_api::{Problem, ProblemCode, PromptContent};
use lariat_core::content::Content;
use percent_encoding::percent_decode_str;

use crate::wire::{ContentBlock, ResourceContents};

/// Reads a prompt. Files beneath `directory` are mentioned by their relative path.
///
/// # Errors
/// If it has content that Lariat does not support, or nothing.
pub(crate) fn read(blocks: Vec<ContentBlock>, directory: &Path) -> Result<PromptContent, Problem> {
    let (mut text, mut embedded, mut images) = (String::new(), Vec::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text { text: part } => text.push_str(&part),
            ContentBlock::Image { data, mime_type } => images.push(Content::Image { data, mime_type }),
            ContentBlock::ResourceLink { uri, name } => text.push_str(&mention(&uri, &name, directory)),
            ContentBlock::Resource { resource } => match embed(resource, directory)? {
                EmbeddedText::Text(text) => embedded.push(Content::text(text)),
                EmbeddedText::Image(image) => images.push(image),
            },
            ContentBlock::Audio {} => return Err(unsupported("Lariat does not support audio")),
        }
    }
    let mut content = Vec::new();
    if !text.trim().is_empty() {
        content.push(Content::text(text));
    }
    content.extend(embedded);
    content.extend(images);
    if content.is_empty() {
        return Err(Problem::new(ProblemCode::Invalid, "the prompt is empty"));
    }
    Ok(PromptContent(content))
}

enum EmbeddedText {
    Text(String),
    Image(Content),
}

fn embed(resource: ResourceContents, directory: &Path) -> Result<EmbeddedText, Problem> {
    let ResourceContents { uri, mime_type, text, blob } = resource;
    match (text, blob, mime_type) {
        (Some(text), _, _) => {
            let name = file(&uri, directory).unwrap_or(uri);
            Ok(EmbeddedText::Text(format!("<context source=\"{name}\">\n{text}\n</context>")))
        }
        (None, Some(data), Some(mime_type)) if mime_type.starts_with("image/") => {
            Ok(EmbeddedText::Image(Content::Image { data, mime_type }))
        }
        _ => Err(unsupported("Lariat supports embedded text and images only").with_place(uri)),
    }
}

/// A mention as the terminal writes it: `@src/lib.rs`. Other links stay links.
fn mention(uri: &str, name: &str, directory: &Path) -> String {
    match file(uri, directory) {
        Some(path) if path.contains(char::is_whitespace) => format!("@\"{path}\""),
        Some(path) => format!("@{path}"),
        None => format!("[{name}]({uri})"),
    }
}

/// The path that a `file` URI names, relative to the directory if it is beneath it. A fragment such as `#L10:20` stays.
fn file(uri: &str, directory: &Path) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let (path, fragment) = match path.split_once('#') {
        Some((path, fragment)) => (path, format!("#{fragment}")),
        None => (path, String::new()),
    };
    let path = PathBuf::from(percent_decode_str(path).decode_utf8().ok()?.into_owned());
    let relative = path.strip_prefix(directory).ok().filter(|rest| !rest.as_os_str().is_empty());
    Some(format!("{}{fragment}", relative.unwrap_or(&path).display()))
}

fn unsupported(message: &str) -> Problem {
    Problem::new(ProblemCode::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lariat_api::ProblemCode;
    use lariat_core::content::Content;
    use serde_json::{Value, json};

    use super::read;

    fn prompt(blocks: Value) -> Result<Vec<Content>, ProblemCode> {
        let blocks = serde_json::from_value(blocks).unwrap();
        read(blocks, Path::new("/project")).map(|content| content.0).map_err(|problem| problem.code)
    }

    #[test]
    fn text_and_mentions_are_one_text_and_embedded_files_follow() {
        let read = prompt(json!([
            { "type": "text", "text": "compare " },
            { "type": "resource_link", "uri": "file:///project/src/a%20b.rs", "name": "a b.rs" },
            { "type": "text", "text": " with " },
            { "type": "resource_link", "uri": "file:///etc/x#L1:2", "name": "x", "mimeType": "text/plain" },
            { "type": "resource_link", "uri": "https://a.b/c", "name": "page" },
            { "type": "image", "data": "aGk=", "mimeType": "image/png", "uri": null },
            { "type": "resource", "resource": { "uri": "file:///project/n.txt", "text": "one", "mimeType": null } },
            { "type": "resource", "resource": { "uri": "x:/y", "blob": "aGk=", "mimeType": "image/gif" } },
        ]));
        let image = |kind: &str| Content::Image { data: "aGk=".to_owned(), mime_type: kind.to_owned() };
        let expected = vec![
            Content::text("compare @\"src/a b.rs\" with @/etc/x#L1:2[page](https://a.b/c)"),
            Content::text("<context source=\"n.txt\">\none\n</context>"),
            image("image/png"),
            image("image/gif"),
        ];
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn a_prompt_that_cannot_be_sent_is_refused() {
        let blob = json!([{ "type": "resource", "resource": { "uri": "x:/y", "blob": "aGk=" } }]);
        assert_eq!(prompt(blob), Err(ProblemCode::Unsupported));
        let audio = json!([{ "type": "audio", "data": "aGk=", "mimeType": "audio/wav" }]);
        assert_eq!(prompt(audio), Err(ProblemCode::Unsupported));
        assert_eq!(prompt(json!([{ "type": "text", "text": " \n" }])), Err(ProblemCode::Invalid));
        assert_eq!(prompt(json!([])), Err(ProblemCode::Invalid));
    }
}
