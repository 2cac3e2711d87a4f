//! Compares the actual dependencies with the table of allowed ones.
//!
//! Every message names the crate, the dependency and what to do.

use std::collections::BTreeSet;

use super::PAGE;
use super::graph::{Edge, Graph, Kind};
use super::table::Table;

/// The binary, which wires everything together: no crate may depend on it.
const TOP: &str = "lariat-cli";

/// Test support, which every crate may use in its tests, whatever its layer.
const TEST_SUPPORT: [&str; 2] = ["lariat-proofs", "lariat-test"];

/// Returns every violation in a stable order; empty if the layers are respected.
pub(crate) fn violations(table: &Table, graph: &Graph) -> Vec<String> {
    let mut violations = violations_of_table(table);
    for name in graph.crates() {
        if table.allowed(name).is_none() {
            violations.push(format!(
                "`{name}` has no row in the table of {PAGE}; add one that says what it may depend on"
            ));
        }
    }
    violations.extend(graph.edges().iter().filter_map(|edge| violation_of_edge(table, edge)));
    violations
}

fn violations_of_table(table: &Table) -> Vec<String> {
    let mut violations = Vec::new();
    for (name, allowed) in table.rows() {
        for dependency in allowed {
            if dependency == TOP {
                violations.push(format!(
                    "the row of `{name}` in {PAGE} allows `{TOP}`, which nothing may depend on; remove it"
                ));
            } else if table.allowed(dependency).is_none() {
                violations.push(format!(
                    "the row of `{name}` in {PAGE} allows `{dependency}`, which has no row of its own; \
                     add one or fix the name"
                ));
            }
        }
    }
    let cycle = crates_in_cycles(table);
    if !cycle.is_empty() {
        let names = cycle.into_iter().collect::<Vec<_>>().join("`, `");
        violations.push(format!(
            "the table of {PAGE} allows a dependency cycle among `{names}`; \
             decide which crate is lower and remove the upward dependency from its row"
        ));
    }
    violations
}

/// Removes crates without dependencies and crates without dependents until only the members of cycles are
/// left.
fn crates_in_cycles(table: &Table) -> BTreeSet<&str> {
    let mut left: BTreeSet<&str> = table.rows().keys().map(String::as_str).collect();
    loop {
        let stands = |name: &str| {
            table.allowed(name).is_some_and(|row| row.iter().any(|to| left.contains(to.as_str())))
        };
        let carries =
            |name: &str| left.iter().any(|from| table.allowed(from).is_some_and(|row| row.contains(name)));
        let remaining: BTreeSet<&str> =
            left.iter().copied().filter(|name| stands(name) && carries(name)).collect();
        if remaining.len() == left.len() {
            return remaining;
        }
        left = remaining;
    }
}

fn violation_of_edge(table: &Table, edge: &Edge) -> Option<String> {
    let Edge { from, to, kind } = edge;
    if to == TOP {
        return Some(format!(
            "`{from}` depends on `{TOP}`; no crate may: move the shared code to a crate below both"
        ));
    }
    // A crate without a row is reported once, not for each of its dependencies.
    let allowed = table.allowed(from)?;
    let listed = allowed.contains(to);
    match kind {
        _ if listed => None,
        Kind::Dev if TEST_SUPPORT.contains(&to.as_str()) => None,
        // A crate's tests may enable more of its own features: no layer is crossed.
        Kind::Dev if to == from => None,
        Kind::Dev => Some(format!(
            "`{from}` has a dev-dependency on `{to}`, which its row in {PAGE} does not list; \
             test it from a higher crate, or move what the test needs to `{}`",
            TEST_SUPPORT.join("` or `")
        )),
        Kind::Shipped => Some(format!(
            "`{from}` depends on `{to}`, which its row in {PAGE} does not list; \
             remove the dependency from `{from}`, move the trait it needs to a lower crate, or, \
             if the layering itself should change, change the row"
        )),
    }
}
