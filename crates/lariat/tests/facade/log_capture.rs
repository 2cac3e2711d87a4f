//! Captures all log output of the process, from every crate and at the finest level.
//!
//! Installs one collector for `tracing` and one for `log`. Both are global: they see the output of all tests
//! in the process.

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static OUTPUT: Mutex<String> = Mutex::new(String::new());
static SPANS: AtomicU64 = AtomicU64::new(1);

fn output() -> MutexGuard<'static, String> {
    OUTPUT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts capturing.
pub(crate) fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        tracing::subscriber::set_global_default(Collector).unwrap();
        log::set_boxed_logger(Box::new(Collector)).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    });
}

/// Takes the output captured since the last call.
pub(crate) fn take() -> String {
    std::mem::take(&mut *output())
}

struct Collector;

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut output = output();
        let _ = write!(output, "\n{} {}", span.metadata().target(), span.metadata().name());
        span.record(&mut Fields(&mut output));
        Id::from_u64(SPANS.fetch_add(1, Ordering::Relaxed))
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&mut output()));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut output = output();
        let _ = write!(output, "\n{}", event.metadata().target());
        event.record(&mut Fields(&mut output));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl log::Log for Collector {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let _ = write!(output(), "\n{} {}", record.target(), record.args());
    }
    fn flush(&self) {}
}
