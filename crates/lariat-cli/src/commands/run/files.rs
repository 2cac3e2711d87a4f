//! Reads the inputs of a run: the prompt, piped data, images, the schema. Every read has a size limit.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use lariat_service::Prompt;
use lariat_service::images;
use lariat_terminal::human;

use super::output::report;
use super::terminal;
use crate::args::task::Task;
use crate::exit::Exit;
use crate::problem::Problem;

/// Maximum bytes of an image, a schema or a prompt; providers accept no more.
pub(crate) const LIMIT: u64 = 10 * 1024 * 1024;

/// Timeout for the first byte on standard input.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// Bytes to keep from the start and from the end of piped data, each: about 32,000 tokens.
const KEPT_BYTES: usize = 128 * 1024;

/// The prompt, with piped data and images.
pub(super) fn prompt(task: &Task) -> Result<Option<Prompt>, Problem> {
    let place = "standard input";
    let text = match task.prompt.as_deref() {
        Some("-") => utf8(read_bounded(std::io::stdin().lock(), place)?, place)?,
        Some(text) if text.trim().is_empty() => text.to_owned(),
        Some(text) => match read_piped()? {
            Some(data) => format!("{text}\n\n<stdin>\n{}\n</stdin>", data.trim_end_matches('\n')),
            None => text.to_owned(),
        },
        None => read_piped()?.unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return match (task.prompt.is_some(), task.images.is_empty()) {
            (true, _) => Err(Problem::new(Exit::Usage, "the prompt is empty")
                .hint("describe the task: `lariat run \"find out why the tests fail\"`")),
            (false, false) => Err(Problem::new(Exit::Usage, "`--image` requires a prompt")
                .hint("say what to do with the image: `lariat run --image FILE \"…\"`")),
            (false, true) => Ok(None),
        };
    }
    let mut prompt = Prompt::text(text);
    prompt.images = task.images.iter().map(|path| image_content(path)).collect::<Result<_, _>>()?;
    Ok(Some(prompt))
}

/// Reads data piped to standard input, as text; `None` if there is none. Drops the middle of data that is too long, and notes it.
fn read_piped() -> Result<Option<String>, Problem> {
    if !terminal::has_piped_input() {
        return Ok(None);
    }
    if !terminal::input_within(FIRST_BYTE) {
        let seconds = FIRST_BYTE.as_secs();
        report(
            "note",
            &format!(
                "no data on standard input within {seconds} s, ignoring it (use `< /dev/null` to skip the wait)"
            ),
        );
        return Ok(None);
    }
    let data = PipedData::read(std::io::stdin().lock()).map_err(|error| {
        Problem::new(Exit::Usage, format!("could not read: {error}")).at("standard input")
    })?;
    let (text, notes) = data.text();
    notes.iter().for_each(|words| report("note", words));
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// The start and end of data, and its total length.
#[derive(Debug, Default)]
struct PipedData {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl PipedData {
    fn read(mut reader: impl Read) -> std::io::Result<Self> {
        let mut data = Self::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => return Ok(data),
                Ok(read) => buffer.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            data.total += read.len() as u64;
            let (head, rest) = read.split_at(read.len().min(KEPT_BYTES - data.head.len()));
            data.head.extend_from_slice(head);
            data.tail.extend(rest);
            data.tail.drain(..data.tail.len().saturating_sub(KEPT_BYTES));
        }
    }

    /// The text, and notes for the user.
    fn text(self) -> (String, Vec<String>) {
        let tail: Vec<u8> = self.tail.into();
        let missing = self.total - (self.head.len() + tail.len()) as u64;
        let mut notes = Vec::new();
        let text = if missing == 0 {
            let whole = [self.head, tail].concat();
            if std::str::from_utf8(&whole).is_err() {
                notes.push("the piped data is not valid UTF-8; invalid bytes were replaced".to_owned());
            }
            String::from_utf8_lossy(&whole).into_owned()
        } else {
            let size = human::size(missing);
            notes.push(format!("the piped data is too long: omitted {size} from the middle"));
            let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
            format!("{head}\n[{size} omitted here]\n{tail}")
        };
        (text, notes)
    }
}

pub(super) fn text(path: &Path) -> Result<String, Problem> {
    utf8(file(path)?, &path.display().to_string())
}

/// An image in base64, and its media type.
pub(crate) fn image_content(path: &Path) -> Result<(String, String), Problem> {
    images::encode(&file(path)?).ok_or_else(|| {
        Problem::new(Exit::Usage, "unsupported image format")
            .at(path.display().to_string())
            .hint("use PNG, JPEG, GIF or WebP")
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the binary, and the user named these files")]
fn file(path: &Path) -> Result<Vec<u8>, Problem> {
    let place = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|error| Problem::new(Exit::Usage, format!("could not read the file: {error}")).at(&place))?;
    read_bounded(file, &place)
}

fn read_bounded(reader: impl Read, place: &str) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    reader
        .take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Problem::new(Exit::Usage, format!("could not read the input: {error}")).at(place))?;
    if bytes.len() as u64 > LIMIT {
        return Err(
            Problem::new(Exit::Usage, format!("the input is larger than {} MB", LIMIT >> 20)).at(place)
        );
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>, place: &str) -> Result<String, Problem> {
    String::from_utf8(bytes)
        .map_err(|error| Problem::new(Exit::Usage, format!("the input is not UTF-8: {error}")).at(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_all_data_below_the_limit() {
        let data = vec![b'x'; KEPT_BYTES + 10];
        let (text, notes) = PipedData::read(data.as_slice()).unwrap().text();
        assert_eq!((text.len(), notes.len()), (KEPT_BYTES + 10, 0));
    }

    #[test]
    fn keeps_start_and_end_of_long_data() {
        let data = [b"first".as_slice(), &vec![b'x'; 4 * KEPT_BYTES], b"last"].concat();
        let (text, notes) = PipedData::read(data.as_slice()).unwrap().text();
        assert!(text.starts_with("first") && text.ends_with("last"));
        assert!(text.contains("[256.0 KB omitted here]"), "{notes:?}");
        assert_eq!(notes.len(), 1);
        assert!(text.len() < 2 * KEPT_BYTES + 100);
    }

    #[test]
    fn replaces_invalid_bytes_with_a_note() {
        let (text, notes) = PipedData::read(b"a\xffb".as_slice()).unwrap().text();
        assert_eq!((text.as_str(), notes.len()), ("a\u{fffd}b", 1));
    }
}
