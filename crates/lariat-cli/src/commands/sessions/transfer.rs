//! `lariat sessions export` and `import`.

use std::io::{BufReader, Cursor, IsTerminal as _, Read as _, Write as _};
use std::path::Path;

use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use lariat_service::{LocalService, ServiceError};
use lariat_store::archive_file::{self, ArchiveFileError};
use lariat_store::interchange::{ImportedSession, InterchangeError, Note, claude, codeloops, codex};
use serde::Serialize;
use serde_json::Value;

use super::super::CommandResult;
use super::super::print;
use crate::args::sessions::{ExportArgs, ExportFormat, ImportArgs, ImportFormat};
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;

/// Lines to examine when detecting a format.
const SAMPLE_LINES: usize = 50;

#[derive(Serialize)]
struct ExportReport<'a> {
    session_id: &'a SessionId,
    file: String,
    bytes: usize,
}

#[derive(Serialize)]
struct ImportReport<'a> {
    session_id: &'a SessionId,
    format: &'static str,
    notes: Vec<ImportNote<'a>>,
}

/// Data in a file that the import ignored or changed.
#[derive(Serialize)]
struct ImportNote<'a> {
    line: usize,
    text: &'a str,
}

/// Writes a session to a file that `import` reads, and returns its size in bytes.
pub(crate) async fn export_file(
    service: &LocalService,
    session_id: &SessionId,
    path: &Path,
) -> Result<u64, Problem> {
    let bytes = archive(service, session_id).await?;
    write(path, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Copies a session to another store, and returns its id there.
pub(crate) async fn copy(
    from: &LocalService,
    to: &LocalService,
    session_id: &SessionId,
) -> Result<SessionId, Problem> {
    let bytes = archive(from, session_id).await?;
    let imported = archive_file::import(&*to.archive(), Cursor::new(bytes), None).await;
    Ok(imported.map_err(archive_problem)?.session_id)
}

async fn archive(service: &LocalService, session_id: &SessionId) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    archive_file::export(&*service.archive(), session_id, &mut bytes).await.map_err(archive_problem)?;
    Ok(bytes)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    files::create(path)?.write_all(bytes).map_err(|error| files::problem(path, "write the file", &error))
}

pub(super) async fn export(service: &LocalService, args: &ExportArgs) -> CommandResult {
    let session_id = service.find(&args.id).await?.session_id;
    let bytes = match args.format {
        ExportFormat::Lariat => archive(service, &session_id).await?,
        ExportFormat::Claude => claude::export(&session_id, &service.events(&session_id).await?),
        ExportFormat::Jsonl => {
            let mut bytes = Vec::new();
            for event in service.events(&session_id).await? {
                let written = serde_json::to_writer(&mut bytes, &event);
                written.map_err(|error| Problem::new(Exit::Failed, error.to_string()))?;
                bytes.push(b'\n');
            }
            bytes
        }
    };
    match &args.output {
        Some(path) => {
            write(path, &bytes)?;
            if args.json {
                let file = path.display().to_string();
                return print::json(&ExportReport { session_id: &session_id, file, bytes: bytes.len() });
            }
            print::note(&format!("wrote {} to {}", print::size(bytes.len() as u64), path.display()));
        }
        None if args.format == ExportFormat::Lariat && std::io::stdout().is_terminal() => {
            let words = "refused to write a binary archive to a terminal";
            return Err(Problem::new(Exit::Usage, words)
                .hint(format!("use `lariat sessions export {} -o FILE`, or `--format jsonl`", args.id)));
        }
        None if args.format == ExportFormat::Lariat => {
            let _ = std::io::stdout().write_all(&bytes);
        }
        None => print::out(&display::json(&String::from_utf8_lossy(&bytes))),
    }
    Ok(Exit::Done)
}

pub(super) async fn import(service: &LocalService, args: &ImportArgs) -> CommandResult {
    let format = match args.format {
        ImportFormat::Auto => detect_format(&args.file)?,
        format => format,
    };
    let (name, (session_id, notes)) = match format {
        ImportFormat::Lariat | ImportFormat::Auto => {
            ("lariat", (import_archive(service, &args.file).await?, Vec::new()))
        }
        ImportFormat::Claude => ("claude", import_foreign(service, &args.file, claude::import).await?),
        ImportFormat::Codex => ("codex", import_foreign(service, &args.file, codex::import).await?),
        ImportFormat::Codeloops => {
            ("codeloops", import_foreign(service, &args.file, codeloops::import).await?)
        }
    };
    if args.json {
        let notes = notes.iter().map(|note| ImportNote { line: note.line, text: &note.text }).collect();
        return print::json(&ImportReport { session_id: &session_id, format: name, notes });
    }
    let file = args.file.display();
    notes.iter().for_each(|note| print::note(&format!("{file}:{}: {}", note.line, note.text)));
    print::line(session_id.as_str());
    print::note(&format!("continue it with `lariat run --resume {session_id} \"…\"`"));
    Ok(Exit::Done)
}

async fn import_archive(service: &LocalService, path: &Path) -> Result<SessionId, Problem> {
    let file = BufReader::new(files::open(path)?);
    let imported = archive_file::import(&*service.archive(), file, None).await;
    Ok(imported.map_err(|error| archive_problem(error).at(path.display().to_string()))?.session_id)
}

async fn import_foreign(
    service: &LocalService,
    path: &Path,
    read: fn(&[u8]) -> Result<ImportedSession, InterchangeError>,
) -> Result<(SessionId, Vec<Note>), Problem> {
    let place = || path.display().to_string();
    let imported = read(&files::read(path)?).map_err(|error| {
        Problem::new(Exit::Failed, error.to_string())
            .at(place())
            .hint("name the format: `--format lariat|claude|codex|codeloops`")
    })?;
    service.import_session(&imported).await.map_err(|error| match error {
        ServiceError::Store(StoreError::Conflict { .. }) => {
            Problem::new(Exit::Session, format!("session {} already exists", imported.session_id))
                .at(place())
                .hint(format!("`lariat sessions show {}`", imported.session_id))
        }
        error => Problem::from(error).at(place()),
    })?;
    Ok((imported.session_id, imported.notes))
}

/// Detects the format of a file. Other programs write lines of JSON with characteristic fields.
fn detect_format(path: &Path) -> Result<ImportFormat, Problem> {
    let mut beginning = Vec::new();
    let read = files::open(path)?.take(256 * 1024).read_to_end(&mut beginning);
    read.map_err(|error| files::problem(path, "read the file", &error))?;
    let text = String::from_utf8_lossy(&beginning);
    let lines = text.lines().take(SAMPLE_LINES).filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<Value> = lines.filter(Value::is_object).collect();
    let any = |fits: &dyn Fn(&Value) -> bool| lines.iter().any(fits);
    let has = |name: &'static str| move |line: &Value| line.get(name).is_some();
    let begins = |line: &Value| line.get("type").and_then(Value::as_str) == Some("session_start");
    if lines.is_empty() {
        Ok(ImportFormat::Lariat)
    } else if any(&begins) {
        Ok(ImportFormat::Codeloops)
    } else if any(&has("parentUuid")) || any(&has("sessionId")) {
        Ok(ImportFormat::Claude)
    } else if any(&has("payload")) || any(&has("role")) {
        Ok(ImportFormat::Codex)
    } else {
        Err(Problem::new(Exit::Failed, "unknown session file format")
            .at(path.display().to_string())
            .hint("name the format: `--format lariat|claude|codex|codeloops`"))
    }
}

fn archive_problem(error: ArchiveFileError) -> Problem {
    let cause = error.to_string();
    match error {
        ArchiveFileError::Store(StoreError::Conflict { .. }) => {
            Problem::new(Exit::Session, format!("a session with this id already exists: {cause}"))
        }
        ArchiveFileError::Store(error) => Problem::from(error),
        ArchiveFileError::Damaged { .. } => Problem::new(Exit::VerificationFailed, cause)
            .hint("export it again, or name its format: `--format lariat|claude|codex|codeloops`"),
        _ => Problem::new(Exit::Failed, cause),
    }
}
