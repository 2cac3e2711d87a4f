//! Exports the span of a whole loop or race, above the runs of its agents, when it ends.

use lariat_core::id::SessionId;
use lariat_runtime::trace::{Attribute, Workflow};

use crate::{LoadedProject, LocalService, clock, traces};

/// Exports the span of the work that a session records, if the settings request spans.
pub(crate) async fn export_workflow(
    service: &LocalService,
    place: &LoadedProject,
    session_id: &SessionId,
    name: &str,
    attributes: Vec<Attribute>,
) {
    let keys = service.keys();
    // Its own sessions have reported what is wrong with the settings.
    let notices = &mut Vec::new();
    let Some(exporter) = traces::exporter(&place.settings, &*keys, service.client(), None, notices) else {
        return;
    };
    let Ok(summary) = service.archive().summary(session_id).await else { return };
    let times = (summary.created_at, clock::now());
    exporter.add(Workflow::of_session(session_id).span(name, session_id, times, attributes));
    exporter.flush().await;
}
