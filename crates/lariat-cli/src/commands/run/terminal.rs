//! Puts the terminal into a mode in which Lariat reads every key.
//!
//! Keys arrive one at a time and are not echoed, so that nothing typed during a run reaches the shell. Ctrl-C, Ctrl-Z and Ctrl-\
//! still send signals. Dropping the value restores the original mode, also after a panic and while the program is suspended, and
//! discards unread input. A background process never touches the terminal.

use std::io::{IsTerminal as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::sync::mpsc;

use super::keys::{KeyDecoder, TypedKey};

/// Maximum number of queued keys. When the queue is full, the reading thread blocks.
const MAX_QUEUED_KEYS: usize = 256;
/// How often a background process checks whether it is in the foreground.
const FOREGROUND_CHECK: Duration = Duration::from_millis(100);
/// Bracketed paste (DEC private mode 2004): the terminal puts markers around pasted text.
const PASTE_ON: &str = "\u{1b}[?2004h";
const PASTE_OFF: &str = "\u{1b}[?2004l";

#[derive(Debug)]
pub(super) struct Terminal {
    device: Arc<OwnedFd>,
    /// The original mode; `None` while it is in effect.
    before: Option<Termios>,
    /// Whether it supports escape sequences.
    is_live: bool,
}

/// Input from the terminal.
#[derive(Debug)]
pub(super) enum TerminalEvent {
    Key(TypedKey),
    /// The terminal was closed.
    Closed,
}

impl Terminal {
    /// Opens the terminal of standard input. If standard input is a pipe or file and standard error is a terminal, opens the
    /// controlling terminal. Returns `None` if standard input is a device such as `/dev/null`: the caller wants no questions.
    pub(super) fn open(is_live: bool) -> Option<Self> {
        let input = std::io::stdin();
        let device = if input.is_terminal() {
            input.as_fd().try_clone_to_owned().ok()?
        } else if has_piped_input() && std::io::stderr().is_terminal() {
            open_controlling_terminal()?
        } else {
            return None;
        };
        let mut terminal = Self { device: Arc::new(device), before: None, is_live };
        terminal.enter();
        Some(terminal)
    }

    /// Sets our mode, unless this process is in the background.
    pub(super) fn enter(&mut self) {
        if self.before.is_some() || !is_foreground(&self.device) {
            return;
        }
        let Ok(before) = tcgetattr(&self.device) else { return };
        let mut mode = before.clone();
        mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(&self.device, OptionalActions::Now, &mode).is_ok() {
            self.before = Some(before);
            self.write(PASTE_ON);
        }
    }

    /// Restores the original mode and discards unread input.
    pub(super) fn leave(&mut self) {
        let Some(before) = self.before.take() else { return };
        if is_foreground(&self.device) {
            self.write(PASTE_OFF);
            let _ = tcsetattr(&self.device, OptionalActions::Flush, &before);
        }
    }

    fn write(&self, sequence: &str) {
        if self.is_live {
            let _ = std::io::stderr().write_all(sequence.as_bytes());
        }
    }

    /// Reads keys on a thread that ends with the process, because a terminal read cannot be cancelled.
    pub(super) fn keys(&self) -> mpsc::Receiver<TerminalEvent> {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_KEYS);
        let device = Arc::clone(&self.device);
        std::thread::spawn(move || {
            let mut decoder = KeyDecoder::default();
            let mut bytes = [0; 4096];
            loop {
                wait(&device, None);
                if !is_foreground(&device) {
                    // A read would stop this process, and the input belongs to another one.
                    pause();
                    continue;
                }
                let read = match rustix::io::read(&device, &mut bytes) {
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                    Ok(0) | Err(_) => {
                        let _ = sender.blocking_send(TerminalEvent::Closed);
                        return;
                    }
                    Ok(read) => bytes.get(..read).unwrap_or_default(),
                };
                for key in decoder.take(read) {
                    if sender.blocking_send(TerminalEvent::Key(key)).is_err() {
                        return;
                    }
                }
            }
        });
        receiver
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Whether standard input is a pipe, a socket or a file.
pub(super) fn has_piped_input() -> bool {
    use rustix::fs::FileType;
    let Ok(stat) = rustix::fs::fstat(std::io::stdin()) else { return false };
    let kind = FileType::from_raw_mode(stat.st_mode);
    matches!(kind, FileType::Fifo | FileType::Socket | FileType::RegularFile)
}

/// Waits until standard input has data or has ended. Returns false on timeout.
pub(super) fn input_within(time: Duration) -> bool {
    wait(&std::io::stdin(), Some(time))
}

#[expect(clippy::disallowed_methods, reason = "this is the binary, and this is the user's terminal")]
fn open_controlling_terminal() -> Option<OwnedFd> {
    let file = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    Some(file.into())
}

fn is_foreground(device: &OwnedFd) -> bool {
    tcgetpgrp(device).is_ok_and(|group| group == getpgrp())
}

/// Waits for input. Returns false on timeout.
fn wait(device: &impl std::os::fd::AsFd, time: Option<Duration>) -> bool {
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    loop {
        let mut watched = [PollFd::new(device, PollFlags::IN)];
        match poll(&mut watched, time.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) => return false,
            _ => return true,
        }
    }
}

fn pause() {
    if let Ok(time) = Timespec::try_from(FOREGROUND_CHECK) {
        let _ = poll(&mut [], Some(&time));
    }
}
