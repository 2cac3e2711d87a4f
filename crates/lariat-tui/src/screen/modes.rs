//! The modes of the terminal while the program reads keys: raw, bracketed paste, focus reports, kitty keyboard.
//!
//! Invariant: what [`Modes::enter`] changed is restored when the value is dropped, and by the panic hook before the
//! message of the panic is printed; a program that continues, because the panic was in another task, calls
//! [`Modes::renew`]. Signals arrive in the client's loop, which ends it by dropping the value.

use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bracketed paste (2004) and focus reports (1004).
const ENTER: &str = "\u{1b}[?2004h\u{1b}[?1004h";
/// Restores what [`ENTER`] changed, the caret and the style.
const LEAVE: &str = "\u{1b}[?1004l\u{1b}[?2004l\u{1b}[?25h\u{1b}[0m";
/// Pushes the kitty keyboard flag "disambiguate escape codes". Terminals without the protocol ignore it.
const PUSH_KEYS: &str = "\u{1b}[>1u";
const POP_KEYS: &str = "\u{1b}[<1u";
/// What a panic can leave open besides the modes.
const ABANDON: &str = "\u{1b}[?2026l\u{1b}[?7h\u{1b}[?1049l";

/// Whether a panic has to restore the terminal, and whether it has to pop keyboard flags.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);
static HAS_KEYS: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Whether the terminal is asked to report keys without ambiguity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyReports {
    /// By the kitty keyboard protocol where the terminal has it.
    #[default]
    Enhanced,
    /// As terminals always did. For the Linux console, which prints unknown sequences.
    Plain,
}

/// The terminal in the modes that the program needs. Dropping it restores them.
#[derive(Debug)]
pub struct Modes {
    keys: KeyReports,
    is_entered: bool,
}

impl Modes {
    /// Changes the modes of the terminal at standard input and output.
    ///
    /// # Errors
    /// If standard input is not a terminal.
    pub fn enter(keys: KeyReports) -> io::Result<Self> {
        HOOK.call_once(install_hook);
        let mut modes = Self { keys, is_entered: false };
        modes.resume()?;
        Ok(modes)
    }

    /// Changes the modes again, after [`Modes::leave`].
    ///
    /// # Errors
    /// If standard input is not a terminal.
    pub fn resume(&mut self) -> io::Result<()> {
        if self.is_entered {
            return Ok(());
        }
        crossterm::terminal::enable_raw_mode()?;
        self.is_entered = true;
        IS_ENTERED.store(true, Ordering::SeqCst);
        HAS_KEYS.store(self.keys == KeyReports::Enhanced, Ordering::SeqCst);
        let keys = if self.keys == KeyReports::Enhanced { PUSH_KEYS } else { "" };
        write(&format!("{ENTER}{keys}"))
    }

    /// Changes the modes again if a panic of another task restored the terminal. Returns whether it did.
    pub fn renew(&mut self) -> bool {
        if !self.is_entered || IS_ENTERED.load(Ordering::SeqCst) {
            return false;
        }
        self.is_entered = false;
        self.resume().is_ok()
    }

    /// Restores the terminal for another program.
    pub fn leave(&mut self) {
        if std::mem::take(&mut self.is_entered) {
            restore("");
        }
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        self.leave();
    }
}

fn restore(first: &str) {
    if IS_ENTERED.swap(false, Ordering::SeqCst) {
        let keys = if HAS_KEYS.load(Ordering::SeqCst) { POP_KEYS } else { "" };
        // Nothing can be done about a terminal that is gone.
        let _ = write(&format!("{first}{keys}{LEAVE}"));
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

fn install_hook() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore(ABANDON);
        before(panic);
    }));
}

fn write(sequence: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(sequence.as_bytes())?;
    out.flush()
}
