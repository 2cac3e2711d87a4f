//! Reads and writes lines of bounded length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// Maximum size of a message in bytes. Prompts carry images in base64.
pub(crate) const MAX_LINE: usize = 32 * 1024 * 1024;

/// A line of the editor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine {
    /// Its bytes, without the line break.
    Whole(Vec<u8>),
    /// It had more than [`MAX_LINE`] bytes and was skipped.
    TooLong,
}

/// Reads the next line; `None` at the end of the input. The last line needs no line break.
pub(crate) async fn next(
    reader: &mut (impl AsyncBufRead + Unpin),
    limit: usize,
) -> io::Result<Option<InputLine>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let bytes = reader.fill_buf().await?;
        if bytes.is_empty() {
            return Ok((!line.is_empty() || is_too_long).then(|| finished(line, is_too_long)));
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        is_too_long |= line.len() + part.len() > limit;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(finished(line, is_too_long)));
        }
    }
}

fn finished(line: Vec<u8>, is_too_long: bool) -> InputLine {
    if is_too_long { InputLine::TooLong } else { InputLine::Whole(line) }
}

/// Writes lines until their sender is gone.
///
/// # Errors
/// If the editor does not read any more.
pub(crate) async fn write_all(
    mut writer: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<String>,
) -> io::Result<()> {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        writer.write_all(line.as_bytes()).await?;
        if lines.is_empty() {
            writer.flush().await?;
        }
    }
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use super::{InputLine, next};

    async fn lines(mut bytes: &[u8], limit: usize) -> Vec<InputLine> {
        let mut lines = Vec::new();
        while let Some(line) = next(&mut bytes, limit).await.unwrap() {
            lines.push(line);
        }
        lines
    }

    fn whole(text: &str) -> InputLine {
        InputLine::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_and_the_next_one_is_read() {
        let read = lines(b"one\n1234567\ntwo\n\nlast", 6).await;
        assert_eq!(read, [whole("one"), InputLine::TooLong, whole("two"), whole(""), whole("last")]);
        assert_eq!(lines(b"1234567", 6).await, [InputLine::TooLong]);
        assert_eq!(lines(b"123456", 6).await, [whole("123456")]);
        assert_eq!(lines(b"", 6).await, []);
    }
}
