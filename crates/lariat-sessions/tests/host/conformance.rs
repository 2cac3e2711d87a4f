//! The host in this process passes the conformance suite of session hosts, with views from the whole journal and from
//! snapshots of every position.

use crate::local_hosts::LocalHosts;

lariat_test::session_conformance!(LocalHosts::new(4096));

mod from_snapshots {
    use super::LocalHosts;

    lariat_test::session_conformance!(LocalHosts::new(1));
}
