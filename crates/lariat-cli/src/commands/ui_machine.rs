//! Gives the terminal UI what it needs from this machine: the clock, the editor, images, the clipboard and symbols.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use lariat_api::ProblemCode;
use lariat_core::BoxFuture;
use lariat_core::content::Content;
use lariat_core::time::Timestamp;
use lariat_service::clock;
use lariat_service::source_symbols::{self, source_symbols};
use lariat_tui::client::Machine;
use lariat_tui::symbols::{Symbol, Symbols};
use uuid::Uuid;

use super::run;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// How long the program that reads the clipboard may take.
const CLIPBOARD_TIME: Duration = Duration::from_secs(5);
/// How long a pasted image stays on disk. A session has a copy of what was sent.
const PASTED_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The start of the names of pasted images.
const PASTED: &str = "pasted-";

/// The machine that this process runs on.
pub(super) struct ThisMachine {
    /// A command line.
    editor: String,
    /// The program that writes the image in the clipboard to its output, and its arguments.
    clipboard: Option<&'static [&'static str]>,
    scratch: PathBuf,
    /// The folder for pasted images.
    pasted: PathBuf,
    directory: PathBuf,
    home: PathBuf,
}

impl ThisMachine {
    pub(super) fn new(env: &ProcessEnv, directory: &Path) -> Self {
        let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| env.variable(name)).unwrap_or("vi");
        Self {
            editor: editor.to_owned(),
            clipboard: clipboard_command(env),
            scratch: env.folders.scratch(),
            pasted: env.folders.screen(directory).join("pasted"),
            directory: directory.to_path_buf(),
            home: env.folders.home.clone(),
        }
    }

    /// The file that a message mentions: a pasted image, or a file as the user would name it.
    fn place(&self, path: &str) -> PathBuf {
        let is_pasted = path.starts_with(PASTED) && !path.contains('/');
        let pasted = is_pasted.then(|| self.pasted.join(path)).filter(|pasted| pasted.is_file());
        let in_home = || path.strip_prefix("~/").map(|rest| self.home.join(rest));
        pasted.or_else(in_home).unwrap_or_else(|| self.directory.join(path))
    }

    fn edit_file(&self, draft: &str) -> io::Result<String> {
        let failed = |problem: Problem| io::Error::other(problem.to_string());
        files::make_private(&self.scratch).map_err(failed)?;
        let path = self.scratch.join(format!("draft-{}.md", Uuid::new_v4()));
        files::write_private(&path, draft).map_err(failed)?;
        let ended = run_editor(&self.editor, &path);
        let text = files::text(&path);
        files::remove(&path);
        // An editor that failed changes nothing.
        let edited = if ended?.success() { text } else { None };
        Ok(edited.map_or_else(|| draft.to_owned(), |text| text.trim_end_matches('\n').to_owned()))
    }
}

#[expect(clippy::disallowed_methods, reason = "the editor of the user needs the terminal and no supervisor")]
fn run_editor(editor: &str, path: &Path) -> io::Result<std::process::ExitStatus> {
    // An editor may be a command line such as `code --wait`, so a shell reads it.
    Command::new("/bin/sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path).status()
}

/// The command for the clipboard of this desktop; `None` without one, as over SSH.
fn clipboard_command(env: &ProcessEnv) -> Option<&'static [&'static str]> {
    if cfg!(target_os = "macos") {
        Some(&["pngpaste", "-"])
    } else if env.variable("WAYLAND_DISPLAY").is_some() {
        Some(&["wl-paste", "--no-newline", "--type", "image/png"])
    } else if env.variable("DISPLAY").is_some() {
        Some(&["xclip", "-selection", "clipboard", "-target", "image/png", "-out"])
    } else {
        None
    }
}

/// The bytes of the image in the clipboard; `None` if it has none.
#[expect(clippy::disallowed_methods, reason = "no sandbox reaches the clipboard of the user")]
fn clipboard_image(command: &[&str]) -> Result<Option<Vec<u8>>, lariat_api::Problem> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let failed = |cause: &str| unavailable(format!("cannot read the clipboard: {cause}"));
    let mut child = process.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            failed(&format!("`{program}` is missing")).with_hint(format!("install `{program}`"))
        }
        _ => failed(&error.to_string()),
    })?;
    let (sender, read) = mpsc::channel();
    let out = child.stdout.take();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = out.map_or(Ok(0), |out| out.take(run::MAX_IMAGE_BYTES + 1).read_to_end(&mut bytes));
        // Without a receiver, the time is over.
        let _ = sender.send(result.map(|_| bytes));
    });
    let result = read.recv_timeout(CLIPBOARD_TIME);
    let _ = child.kill();
    let _ = child.wait();
    match result {
        Ok(Ok(bytes)) if bytes.len() as u64 > run::MAX_IMAGE_BYTES => Err(failed("the image is too large")),
        Ok(Ok(bytes)) => Ok((!bytes.is_empty()).then_some(bytes)),
        Ok(Err(error)) => Err(failed(&error.to_string())),
        Err(_) => Err(failed(&format!("`{program}` does not end"))),
    }
}

fn unavailable(words: String) -> lariat_api::Problem {
    lariat_api::Problem::new(ProblemCode::Unavailable, words)
}

/// Saves an image to a new file of the user, and removes old ones. Returns its name, which [`ThisMachine::place`] finds.
fn save_image(folder: &Path, bytes: &[u8]) -> Result<String, Problem> {
    files::make_private(folder)?;
    files::remove_older(folder, PASTED_AGE);
    let id: String = Uuid::new_v4().simple().to_string().chars().take(8).collect();
    let name = format!("{PASTED}{id}.png");
    files::write_private(&folder.join(&name), bytes)?;
    Ok(name)
}

/// Runs what waits for the disk or another program beside the screen.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, lariat_api::Problem> + Send + 'static,
) -> Result<T, lariat_api::Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| unavailable(error.to_string()))?
}

/// The definitions in the source files of a directory.
pub(super) struct ProjectSymbols(pub(super) PathBuf);

impl Symbols for ProjectSymbols {
    fn symbols(&self) -> Vec<Symbol> {
        let symbol = |found: source_symbols::Symbol| Symbol {
            name: found.name,
            place: format!("{}:{}", found.path, found.line),
            signature: found.signature,
        };
        source_symbols(&self.0).into_iter().map(symbol).collect()
    }
}

impl Machine for ThisMachine {
    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn fresh_id(&self) -> String {
        Uuid::new_v4().to_string()
    }

    fn suspend(&self) {
        // The whole job stops, as it does when the terminal sends the signal.
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
    }

    fn edit<'a>(&'a self, draft: &'a str) -> BoxFuture<'a, io::Result<String>> {
        Box::pin(async move { self.edit_file(draft) })
    }

    fn read_image<'a>(
        &'a self,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<Content>, lariat_api::Problem>> {
        let path = self.place(path);
        Box::pin(beside(move || {
            if !path.is_file() {
                return Ok(None);
            }
            let (data, mime_type) =
                run::image_content(&path).map_err(|problem| unavailable(problem.to_string()))?;
            Ok(Some(Content::Image { data, mime_type }))
        }))
    }

    fn paste_image(&self) -> BoxFuture<'_, Result<Option<String>, lariat_api::Problem>> {
        let (command, folder) = (self.clipboard, self.pasted.clone());
        Box::pin(beside(move || {
            let Some(command) = command else {
                return Err(unavailable("this terminal has no clipboard with images".to_owned())
                    .with_hint("mention the file: `@picture.png`"));
            };
            let Some(bytes) = clipboard_image(command)? else { return Ok(None) };
            save_image(&folder, &bytes).map(Some).map_err(|problem| unavailable(problem.to_string()))
        }))
    }
}
