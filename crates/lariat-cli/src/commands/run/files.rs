//! What is read before a run begins: the prompt, pictures, the schema. Every read has a bound.

use std::io::Read;
use std::path::Path;

use lariat_service::Prompt;
use lariat_tools::image;

use crate::args::task::Task;
use crate::exit::Exit;
use crate::problem::Problem;

/// Bytes of a picture, a schema or a prompt at most: services take no more.
const LIMIT: u64 = 10 * 1024 * 1024;

/// What to do, with its pictures.
pub(super) fn prompt(task: &Task) -> Result<Option<Prompt>, Problem> {
    let text = match task.prompt.as_deref() {
        Some("-") => {
            let place = "standard input";
            utf8(bounded(std::io::stdin().lock(), place)?, place)?
        }
        Some(text) => text.to_owned(),
        None => String::new(),
    };
    if text.trim().is_empty() {
        return match (task.prompt.is_some(), task.images.is_empty()) {
            (true, _) => Err(Problem::new(Exit::Usage, "the prompt is empty").next("say what to do")),
            (false, false) => Err(Problem::new(Exit::Usage, "pictures need words: there is no prompt")
                .next("say what to do with them")),
            (false, true) => Ok(None),
        };
    }
    let mut prompt = Prompt::text(text);
    prompt.images = task.images.iter().map(|path| picture(path)).collect::<Result<_, _>>()?;
    Ok(Some(prompt))
}

/// A file of text.
pub(super) fn text(path: &Path) -> Result<String, Problem> {
    utf8(file(path)?, &path.display().to_string())
}

/// A picture in base64, and its type.
fn picture(path: &Path) -> Result<(String, String), Problem> {
    let bytes = file(path)?;
    let kind = image::kind(&bytes).ok_or_else(|| {
        Problem::new(Exit::Usage, "this is no picture that models take")
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
