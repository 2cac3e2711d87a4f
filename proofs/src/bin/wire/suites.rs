//! Runs the standard suites of JSON and JSON Schema and prints how many cases passed.

use std::path::Path;

use lariat_proofs::suites::schema::DRAFTS;
use lariat_proofs::suites::{json, schema};

/// Runs `schemas JSON-DIRECTORY SCHEMA-DIRECTORY`.
pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let [json_suite, schema_suite] = options else {
        return Err("missing arguments: the directories of both suites".to_owned());
    };
    let mut faults = Vec::new();
    let json::Tally { accepted, rejected, chosen, declined, faults: found } =
        json::run(Path::new(json_suite))?;
    println!(
        "JSONTestSuite: {accepted} of 95 must-accept cases accepted, {rejected} of 188 must-reject cases rejected"
    );
    println!("  left to the implementation: {chosen} accepted, {declined} rejected");
    let mut is_whole = accepted == 95 && rejected == 188;
    faults.extend(found);
    for draft in DRAFTS {
        let schema::Tally { passed, refused, faults: found } = draft.run(Path::new(schema_suite))?;
        let all = passed + refused + found.len();
        println!(
            "JSON-Schema-Test-Suite, {}: {passed} of {all} required tests passed, {refused} refused, because their schemas need \
             documents of another server",
            draft.directory
        );
        is_whole &= passed > 0;
        faults.extend(found);
    }
    faults.iter().for_each(|fault| println!("FAULT: {fault}"));
    println!("{} faults", faults.len());
    Ok(is_whole && faults.is_empty())
}
