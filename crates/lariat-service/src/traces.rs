//! Traces of a session, where the settings ask for them: lines in a file, spans to a collector.

use std::sync::Arc;

use lariat_runtime::trace::{Content, LiveEvents, TraceLog};
use lariat_runtime::{AgentBuilder, Observer};

use crate::config::Config;
use crate::local::TraceFile;
use crate::otlp::{Otlp, OtlpConfig};

/// Who is shown the events of a session.
#[derive(Default)]
pub(crate) struct Traces {
    lines: Option<Arc<TraceLog>>,
    spans: Option<Arc<Otlp>>,
}

impl Traces {
    /// Those of the settings. A file that cannot be written is told, and is no reason not to work.
    pub(crate) fn of(config: &Config, notices: &mut Vec<String>) -> Self {
        let lines = config.text("trace.file").and_then(|path| {
            let log = TraceFile::open(&path).and_then(|file| TraceLog::start(file, LiveEvents::Skip));
            log.map_err(|error| notices.push(format!("no trace is written to {path}: {error}"))).ok()
        });
        let spans = config.text("telemetry.endpoint").map(|endpoint| {
            let mut otlp = OtlpConfig::new(endpoint);
            if config.flag("telemetry.content") {
                otlp.content = Content::On;
            }
            Otlp::start(otlp)
        });
        Self { lines: lines.map(Arc::new), spans }
    }

    /// Shows them the events of an agent.
    pub(crate) fn observing(&self, mut builder: AgentBuilder) -> AgentBuilder {
        if let Some(lines) = self.lines.clone() {
            builder = builder.observer(lines as Arc<dyn Observer>);
        }
        if let Some(spans) = self.spans.clone() {
            builder = builder.observer(spans as Arc<dyn Observer>);
        }
        builder
    }

    /// Writes and sends what waits.
    pub(crate) async fn close(&self) {
        if let Some(spans) = &self.spans {
            spans.flush().await;
        }
        if let Some(lines) = &self.lines {
            lines.close();
        }
    }
}
