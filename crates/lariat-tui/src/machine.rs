//! Defines what the client needs from the machine that it runs on.

use std::io;

use lariat_api::Problem;
use lariat_core::BoxFuture;
use lariat_core::content::Content;
use lariat_core::time::Timestamp;

/// The machine that the client runs on.
pub trait Machine: Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;

    /// A text that no other call returned, best a UUID. For commands and new sessions.
    fn fresh_id(&self) -> String;

    /// Stops this process as Ctrl-Z does in a shell, and returns when it continues. The terminal is in its normal mode.
    /// The client catches `SIGTSTP`, so this has to send `SIGSTOP`.
    fn suspend(&self);

    /// Lets the user edit a text in their editor. The terminal is in its normal mode.
    fn edit<'a>(&'a self, draft: &'a str) -> BoxFuture<'a, io::Result<String>>;

    /// Reads an image that a message mentions; `None` if the file does not exist. A relative path is in the working
    /// directory, and `~/` is the home of the user.
    ///
    /// # Errors
    /// If the file cannot be read, is too large or is not an image.
    fn read_image<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Content>, Problem>>;

    /// Saves the image in the clipboard and returns a path for [`Machine::read_image`]; `None` if the clipboard has no
    /// image.
    ///
    /// # Errors
    /// If the clipboard cannot be read, or the file cannot be written.
    fn paste_image(&self) -> BoxFuture<'_, Result<Option<String>, Problem>>;
}
