//! Prints panics for the user, without their messages: code may have put a secret into a message that no redactor saw.
//!
//! Invariant: besides the place, only text that is written in the source reaches standard error. A panic of a tool is also
//! the result of its call, where the redacted message is shown.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::Location;

/// Replaces the message that Rust itself prints.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|panic| {
        let text = describe(panic.location(), panic.payload(), &Backtrace::capture());
        // Standard error may be gone, too.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }));
}

fn describe(place: Option<&Location<'_>>, payload: &(dyn Any + Send), backtrace: &Backtrace) -> String {
    let mut text = "error: Lariat stopped because of a bug (panic)\n".to_owned();
    if let Some(place) = place {
        let _ = writeln!(text, "  at:   {place}");
    }
    // A formatted message is a `String`.
    let message = payload.downcast_ref::<&'static str>();
    let message = message.copied().unwrap_or("not shown, because it may contain secrets");
    let _ = writeln!(text, "  text: {message}");
    if backtrace.status() == BacktraceStatus::Captured {
        let _ = writeln!(text, "{backtrace}");
    } else {
        text.push_str("  hint: report the place; `RUST_BACKTRACE=1` shows how the program got there\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_with_a_formatted_message_does_not_show_it() {
        let payload: Box<dyn Any + Send> = Box::new(format!("cannot log in with {}", "sk-secret"));
        let text = describe(Some(Location::caller()), &*payload, &Backtrace::disabled());
        assert!(!text.contains("sk-secret") && !text.contains("log in"), "{text}");
        assert!(text.contains("panic_report.rs:") && text.contains("RUST_BACKTRACE=1"), "{text}");
    }

    #[test]
    fn panic_with_a_message_of_the_source_shows_it() {
        let payload: Box<dyn Any + Send> = Box::new("the queue is empty");
        let text = describe(None, &*payload, &Backtrace::disabled());
        assert!(text.contains("  text: the queue is empty\n"), "{text}");
    }
}
