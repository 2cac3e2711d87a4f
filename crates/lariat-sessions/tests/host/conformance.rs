//! The host in this process passes the conformance suite of session hosts, with views from the whole journal and from
//! snapshots of every position.

use crate::local_hosts::LocalHosts;

lariat_test::session_conformance!(LocalHosts::new(4096));

mod from_snapshots {
    use lariat_test::sessions::CrashMoments;

    use super::LocalHosts;

    /// Hosts that store a snapshot after every event. The nightly proof also crashes them during commands.
    fn hosts() -> LocalHosts {
        let mut hosts = LocalHosts::new(1);
        hosts.crash_moments = CrashMoments::AfterSteps;
        hosts
    }

    lariat_test::session_conformance!(hosts());
}
