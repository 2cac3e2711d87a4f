//! Traces of a session, if the settings request them: lines in a file, spans to a collector.

use std::sync::Arc;

use lariat_model::http::ClientConfig;
use lariat_runtime::trace::{Content, LiveEvents, TraceLog, Workflow};
use lariat_runtime::{AgentBuilder, Observer};

use crate::config::Settings;
use crate::local::TraceFile;
use crate::models::Keys;
use crate::otlp::Otlp;
use crate::otlp::variables::{self, OtlpVariables};

/// The observers of a session's events.
#[derive(Default)]
pub(crate) struct Traces {
    lines: Option<Arc<TraceLog>>,
    spans: Option<Arc<Otlp>>,
}

impl Traces {
    /// Starts the traces in the settings. A failure is only a notice and does not stop the session.
    pub(crate) fn of(
        settings: &Settings,
        keys: &dyn Keys,
        client: &ClientConfig,
        workflow: Option<Workflow>,
        notices: &mut Vec<String>,
    ) -> Self {
        let lines = settings.trace.file.as_ref().and_then(|path| {
            let log = TraceFile::open(path).and_then(|file| TraceLog::start(file, LiveEvents::Skip));
            let path = path.display();
            log.map_err(|error| notices.push(format!("could not write a trace to {path}: {error}"))).ok()
        });
        let spans = exporter(settings, keys, client, workflow, notices);
        Self { lines: lines.map(Arc::new), spans }
    }

    /// Adds the observers to an agent.
    pub(crate) fn add_observers(&self, mut builder: AgentBuilder) -> AgentBuilder {
        if let Some(lines) = self.lines.clone() {
            builder = builder.observer(lines as Arc<dyn Observer>);
        }
        if let Some(spans) = self.spans.clone() {
            builder = builder.observer(spans as Arc<dyn Observer>);
        }
        builder
    }

    /// Flushes all traces.
    pub(crate) async fn close(&self) {
        if let Some(spans) = &self.spans {
            spans.flush().await;
        }
        if let Some(lines) = &self.lines {
            lines.close();
        }
    }
}

/// Starts the exporter of spans in the settings. All spans belong to the workflow, if there is one.
pub(crate) fn exporter(
    settings: &Settings,
    keys: &dyn Keys,
    client: &ClientConfig,
    workflow: Option<Workflow>,
    notices: &mut Vec<String>,
) -> Option<Arc<Otlp>> {
    let endpoint = settings.telemetry.endpoint.clone();
    match variables::read_variables(endpoint, |name| keys.variable(name)) {
        OtlpVariables::Nothing => None,
        OtlpVariables::Unsupported(why) => {
            notices.push(format!("not sending telemetry: {why}"));
            None
        }
        OtlpVariables::Send(mut otlp) => {
            for header in &settings.telemetry.headers {
                match header.split_once(':') {
                    Some((name, value)) => {
                        otlp.headers.push((name.trim().to_owned(), value.trim().to_owned()));
                    }
                    None => notices.push(
                        "ignoring an entry of `telemetry.headers` that is not `NAME: VALUE`".to_owned(),
                    ),
                }
            }
            if settings.telemetry.content {
                otlp.content = Content::On;
            }
            otlp.client = client.clone();
            otlp.workflow = workflow;
            Some(Otlp::start(*otlp))
        }
    }
}
