//! What is read before a run begins: the prompt, what is piped, pictures, the schema. Every read has a bound.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use lariat_service::Prompt;
use lariat_tools::image;

use super::face::tell;
use super::terminal;
use crate::args::task::Task;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::screen::human;

/// Bytes of a picture, a schema or a prompt at most: services take no more.
const LIMIT: u64 = 10 * 1024 * 1024;

/// How long a program that feeds standard input may take until its first byte.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// Bytes of piped data that are kept of its beginning and of its end, each: about 32,000 tokens.
const KEPT: usize = 128 * 1024;

/// What to do, with what was piped and with its pictures.
pub(super) fn prompt(task: &Task) -> Result<Option<Prompt>, Problem> {
    let place = "standard input";
    let text = match task.prompt.as_deref() {
        Some("-") => utf8(bounded(std::io::stdin().lock(), place)?, place)?,
        Some(text) if text.trim().is_empty() => text.to_owned(),
        Some(text) => match piped()? {
            Some(data) => format!("{text}\n\n<stdin>\n{}\n</stdin>", data.trim_end_matches('\n')),
            None => text.to_owned(),
        },
        None => piped()?.unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return match (task.prompt.is_some(), task.images.is_empty()) {
            (true, _) => Err(Problem::new(Exit::Usage, "the prompt is empty").next("say what to do")),
            (false, false) => {
                Err(Problem::new(Exit::Usage, "`--image` requires a prompt").next("say what to do with them"))
            }
            (false, true) => Ok(None),
        };
    }
    let mut prompt = Prompt::text(text);
    prompt.images = task.images.iter().map(|path| picture(path)).collect::<Result<_, _>>()?;
    Ok(Some(prompt))
}

/// What a program or a file feeds to standard input, as text; none when that is nothing. What does not fit is left out of
/// its middle, and the person is told.
fn piped() -> Result<Option<String>, Problem> {
    if !terminal::is_fed() {
        return Ok(None);
    }
    if !terminal::input_within(FIRST_BYTE) {
        let seconds = FIRST_BYTE.as_secs();
        tell(
            "note",
            &format!(
                "nothing came on standard input within {seconds} s; it is not used (`< /dev/null` says so at once)"
            ),
        );
        return Ok(None);
    }
    let data = Data::read(std::io::stdin().lock()).map_err(|error| {
        Problem::new(Exit::Usage, format!("cannot read it: {error}")).at("standard input")
    })?;
    let (text, notes) = data.text();
    notes.iter().for_each(|words| tell("note", words));
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// The beginning and the end of data, and how long it was.
#[derive(Debug, Default)]
struct Data {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Data {
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
            let (head, rest) = read.split_at(read.len().min(KEPT - data.head.len()));
            data.head.extend_from_slice(head);
            data.tail.extend(rest);
            data.tail.drain(..data.tail.len().saturating_sub(KEPT));
        }
    }

    /// The text, and what the person should know of it.
    fn text(self) -> (String, Vec<String>) {
        let tail: Vec<u8> = self.tail.into();
        let missing = self.total - (self.head.len() + tail.len()) as u64;
        let mut notes = Vec::new();
        let text = if missing == 0 {
            let whole = [self.head, tail].concat();
            if std::str::from_utf8(&whole).is_err() {
                notes.push("the piped data is not UTF-8; bytes that are not text were replaced".to_owned());
            }
            String::from_utf8_lossy(&whole).into_owned()
        } else {
            let size = human::size(missing);
            notes.push(format!("the piped data is too long: {size} of its middle were left out"));
            let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
            format!("{head}\n[{size} left out here]\n{tail}")
        };
        (text, notes)
    }
}

/// A file of text.
pub(super) fn text(path: &Path) -> Result<String, Problem> {
    utf8(file(path)?, &path.display().to_string())
}

/// A picture in base64, and its type.
fn picture(path: &Path) -> Result<(String, String), Problem> {
    let bytes = file(path)?;
    let kind = image::kind(&bytes).ok_or_else(|| {
        Problem::new(Exit::Usage, "this is not a picture that models take")
            .at(path.display().to_string())
            .next("PNG, JPEG, GIF and WebP are taken")
    })?;
    Ok((image::base64(&bytes), kind.to_owned()))
}

#[expect(clippy::disallowed_methods, reason = "this is the binary, and these are the person's own files")]
fn file(path: &Path) -> Result<Vec<u8>, Problem> {
    let place = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|error| Problem::new(Exit::Usage, format!("it cannot be read: {error}")).at(&place))?;
    bounded(file, &place)
}

fn bounded(reader: impl Read, place: &str) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    reader
        .take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Problem::new(Exit::Usage, format!("it cannot be read: {error}")).at(place))?;
    if bytes.len() as u64 > LIMIT {
        return Err(Problem::new(Exit::Usage, format!("it is larger than {} MB", LIMIT >> 20)).at(place));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>, place: &str) -> Result<String, Problem> {
    String::from_utf8(bytes)
        .map_err(|error| Problem::new(Exit::Usage, format!("it is not UTF-8: {error}")).at(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_fits_is_whole() {
        let data = vec![b'x'; KEPT + 10];
        let (text, notes) = Data::read(data.as_slice()).unwrap().text();
        assert_eq!((text.len(), notes.len()), (KEPT + 10, 0));
    }

    #[test]
    fn data_that_does_not_fit_keeps_its_beginning_and_its_end() {
        let data = [b"first".as_slice(), &vec![b'x'; 4 * KEPT], b"last"].concat();
        let (text, notes) = Data::read(data.as_slice()).unwrap().text();
        assert!(text.starts_with("first") && text.ends_with("last"));
        assert!(text.contains("[256.0 KB left out here]"), "{notes:?}");
        assert_eq!(notes.len(), 1);
        assert!(text.len() < 2 * KEPT + 100);
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced_and_told() {
        let (text, notes) = Data::read(b"a\xffb".as_slice()).unwrap().text();
        assert_eq!((text.as_str(), notes.len()), ("a\u{fffd}b", 1));
    }
}
