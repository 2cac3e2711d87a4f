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

static SAID: Mutex<String> = Mutex::new(String::new());
static SPANS: AtomicU64 = AtomicU64::new(1);

fn said() -> MutexGuard<'static, String> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
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
pub(crate) fn taken() -> String {
    std::mem::take(&mut *said())
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
        let mut said = said();
        let _ = write!(said, "\n{} {}", span.metadata().target(), span.metadata().name());
        span.record(&mut Fields(&mut said));
        Id::from_u64(SPANS.fetch_add(1, Ordering::Relaxed))
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&mut said()));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut said = said();
        let _ = write!(said, "\n{}", event.metadata().target());
        event.record(&mut Fields(&mut said));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl log::Log for Collector {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let _ = write!(said(), "\n{} {}", record.target(), record.args());
    }
    fn flush(&self) {}
}
