//! Where keys come from.

use std::io;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use lariat_core::BoxFuture;

use crate::frame::Size;
use crate::screen::modes::Modes;

/// Keys, pasted text, and changes of size and focus.
pub trait InputSource: Send {
    /// Waits for the next event; `None` if the terminal is gone. Can be dropped and called again.
    fn next(&mut self) -> BoxFuture<'_, Option<Event>>;

    /// Restores the terminal for another program and reads nothing until [`InputSource::resume`].
    fn pause(&mut self);

    /// Reads keys again.
    ///
    /// # Errors
    /// If the terminal is gone.
    fn resume(&mut self) -> io::Result<()>;

    /// Whether the terminal was restored behind the client's back, by a panic in another task. It is in the right modes
    /// again when this returns.
    fn renew(&mut self) -> bool {
        false
    }

    /// The size of the terminal now, which can be newer than the last event; `None` if only events tell it.
    fn size(&self) -> Option<Size> {
        None
    }
}

/// The keys of the terminal at standard input.
#[derive(Debug)]
pub struct Keyboard {
    modes: Modes,
    /// `None` while another program has the terminal.
    events: Option<EventStream>,
}

impl Keyboard {
    /// Reads the keys of a terminal in these modes.
    pub fn new(modes: Modes) -> Self {
        Self { modes, events: Some(EventStream::new()) }
    }
}

impl InputSource for Keyboard {
    fn next(&mut self) -> BoxFuture<'_, Option<Event>> {
        Box::pin(async {
            match &mut self.events {
                Some(events) => events.next().await.and_then(Result::ok),
                None => std::future::pending().await,
            }
        })
    }

    fn pause(&mut self) {
        self.events = None;
        self.modes.leave();
    }

    fn resume(&mut self) -> io::Result<()> {
        self.modes.resume()?;
        self.events = Some(EventStream::new());
        Ok(())
    }

    fn renew(&mut self) -> bool {
        self.modes.renew()
    }

    fn size(&self) -> Option<Size> {
        // `crossterm::terminal::size` starts `tput` if the kernel does not know the size.
        let now = crossterm::terminal::window_size().ok().filter(|now| now.columns > 0 && now.rows > 0)?;
        Some(Size { columns: usize::from(now.columns), rows: usize::from(now.rows) })
    }
}
