//! The comparison: what the code does against what the table allows.
//!
//! Owns the rules and their messages. Every fault names the crate, the dependency and what to do.

use std::collections::BTreeSet;

use super::PAGE;
use super::graph::{Edge, Graph, Kind};
use super::table::Table;

/// The binary: it wires everything together, so nothing can stand on it.
const TOP: &str = "lariat-cli";

/// Test support: every crate may use it in its tests, whatever its layer.
const TESTKIT: &str = "lariat-testkit";

/// Everything that is wrong, in a stable order; empty when the layers hold.
pub(crate) fn faults(table: &Table, graph: &Graph) -> Vec<String> {
    let mut faults = faults_of_table(table);
    for name in graph.crates() {
        if table.allowed(name).is_none() {
            faults.push(format!(
                "`{name}` has no row in the table of {PAGE}; add one that says what it may depend on"
            ));
        }
    }
    faults.extend(graph.edges().iter().filter_map(|edge| fault_of_edge(table, edge)));
    faults
}

fn faults_of_table(table: &Table) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, allowed) in table.rows() {
        for dependency in allowed {
            if dependency == TOP {
                faults.push(format!(
                    "the row of `{name}` in {PAGE} allows `{TOP}`, which nothing may depend on; remove it"
                ));
            } else if table.allowed(dependency).is_none() {
                faults.push(format!(
                    "the row of `{name}` in {PAGE} allows `{dependency}`, which has no row of its own; \
                     add one or fix the name"
                ));
            }
        }
    }
    let circle = crates_in_circles(table);
    if !circle.is_empty() {
        let names = circle.into_iter().collect::<Vec<_>>().join("`, `");
        faults.push(format!(
            "the table of {PAGE} allows a circle among `{names}`; \
             decide which is lower and take the way back out of its row"
        ));
    }
    faults
}

/// What is left after crates that stand on nothing, and then crates nothing left stands on, are taken away.
fn crates_in_circles(table: &Table) -> BTreeSet<&str> {
    let mut left: BTreeSet<&str> = table.rows().keys().map(String::as_str).collect();
    loop {
        let stands = |name: &str| {
            table.allowed(name).is_some_and(|row| row.iter().any(|to| left.contains(to.as_str())))
        };
        let carries =
            |name: &str| left.iter().any(|from| table.allowed(from).is_some_and(|row| row.contains(name)));
        let kept: BTreeSet<&str> =
            left.iter().copied().filter(|name| stands(name) && carries(name)).collect();
        if kept.len() == left.len() {
            return kept;
        }
        left = kept;
    }
}

fn fault_of_edge(table: &Table, edge: &Edge) -> Option<String> {
    let Edge { from, to, kind } = edge;
    if to == TOP {
        return Some(format!(
            "`{from}` depends on `{TOP}`; nothing may: move the shared code to a crate below both"
        ));
    }
    // A crate without a row is reported once, not once for each of its dependencies.
    let allowed = table.allowed(from)?;
    let listed = allowed.contains(to);
    match kind {
        _ if listed => None,
        Kind::Dev if to == TESTKIT => None,
        // Its own tests with more of its own features: no layer is crossed.
        Kind::Dev if to == from => None,
        Kind::Dev => Some(format!(
            "`{from}` has a dev-dependency on `{to}`, which its row in {PAGE} does not list; \
             test it from a higher crate, or move what the test needs to `{TESTKIT}`"
        )),
        Kind::Shipped => Some(format!(
            "`{from}` depends on `{to}`, which its row in {PAGE} does not list; \
             take the dependency out of `{from}`, put the contract it needs into a lower crate, or, \
             if the layering itself should change, change the row"
        )),
    }
}
