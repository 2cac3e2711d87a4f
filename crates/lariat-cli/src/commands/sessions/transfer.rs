//! `lariat sessions export` and `import`.

use std::io::{BufReader, IsTerminal as _, Read as _, Write as _};
use std::path::Path;

use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_service::LocalService;
use lariat_service::transfer::{self, DetectedFormat, ForeignFormat, Note, TransferError};
use serde::Serialize;

use super::super::CommandResult;
use super::super::print;
use crate::args::sessions::{ExportArgs, ExportFormat, ImportArgs, ImportFormat};
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;

/// What to do about a file whose format is not the expected one.
const NAME_FORMAT: &str = "name the format: `--format lariat|claude|codex|codeloops`";

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
    let bytes = transfer::export_archive(service, session_id).await.map_err(problem)?;
    write(path, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Copies a session to another store, and returns its id there.
pub(crate) async fn copy(
    from: &LocalService,
    to: &LocalService,
    session_id: &SessionId,
) -> Result<SessionId, Problem> {
    transfer::copy(from, to, session_id).await.map_err(problem)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    files::create(path)?.write_all(bytes).map_err(|error| files::problem(path, "write the file", &error))
}

pub(super) async fn export(service: &LocalService, args: &ExportArgs) -> CommandResult {
    let session_id = service.find(&args.id).await?.session_id;
    let bytes = match args.format {
        ExportFormat::Lariat => transfer::export_archive(service, &session_id).await.map_err(problem)?,
        ExportFormat::Claude => transfer::export_claude(service, &session_id).await?,
        ExportFormat::Codeloops => transfer::export_codeloops(service, &session_id).await.map_err(problem)?,
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
        ImportFormat::Claude => ("claude", import_foreign(service, &args.file, ForeignFormat::Claude).await?),
        ImportFormat::Codex => ("codex", import_foreign(service, &args.file, ForeignFormat::Codex).await?),
        ImportFormat::Codeloops => {
            ("codeloops", import_foreign(service, &args.file, ForeignFormat::Codeloops).await?)
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
    let imported = transfer::import_archive(service, file).await;
    imported.map_err(|error| problem(error).at(path.display().to_string()))
}

async fn import_foreign(
    service: &LocalService,
    path: &Path,
    format: ForeignFormat,
) -> Result<(SessionId, Vec<Note>), Problem> {
    let imported = transfer::import_foreign(service, format, &files::read(path)?).await;
    imported.map_err(|error| {
        let problem = match error {
            TransferError::Unreadable(_) => Problem::new(Exit::Failed, error.to_string()).hint(NAME_FORMAT),
            error => problem(error),
        };
        problem.at(path.display().to_string())
    })
}

/// Detects the format of a file by its beginning.
fn detect_format(path: &Path) -> Result<ImportFormat, Problem> {
    let mut beginning = Vec::new();
    let read = files::open(path)?.take(256 * 1024).read_to_end(&mut beginning);
    read.map_err(|error| files::problem(path, "read the file", &error))?;
    Ok(match transfer::detect_format(&beginning) {
        DetectedFormat::Archive => ImportFormat::Lariat,
        DetectedFormat::Foreign(ForeignFormat::Claude) => ImportFormat::Claude,
        DetectedFormat::Foreign(ForeignFormat::Codex) => ImportFormat::Codex,
        DetectedFormat::Foreign(ForeignFormat::Codeloops) => ImportFormat::Codeloops,
        _ => {
            return Err(Problem::new(Exit::Failed, "unknown session file format")
                .at(path.display().to_string())
                .hint(NAME_FORMAT));
        }
    })
}

fn problem(error: TransferError) -> Problem {
    let cause = error.to_string();
    match error {
        TransferError::ArchiveExists(_) => Problem::new(Exit::Session, cause),
        TransferError::Exists(id) => {
            Problem::new(Exit::Session, cause).hint(format!("`lariat sessions show {id}`"))
        }
        TransferError::Damaged(_) => Problem::new(Exit::VerificationFailed, cause)
            .hint("export it again, or name its format: `--format lariat|claude|codex|codeloops`"),
        TransferError::Service(error) => error.into(),
        _ => Problem::new(Exit::Failed, cause),
    }
}
