//! Reads the workspace's crates and the dependencies between them from `cargo metadata --no-deps`.
//!
//! Dependencies on third-party crates are dropped.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Normal and build dependencies: both are part of what we ship.
    Shipped,
    Dev,
}

#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) kind: Kind,
}

pub(crate) struct Graph {
    crates: BTreeSet<String>,
    edges: Vec<Edge>,
}

impl Graph {
    pub(crate) fn read(metadata: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
        let packages = list(&metadata, "packages")?;
        let crates = packages.iter().map(|package| text(package, "name")).collect::<Result<BTreeSet<_>>>()?;
        let mut edges = Vec::new();
        for package in packages {
            let from = text(package, "name")?;
            for dependency in list(package, "dependencies")? {
                // `name` is the real name, even if the manifest renames the dependency.
                let to = text(dependency, "name")?;
                if crates.contains(&to) {
                    edges.push(Edge { from: from.clone(), to, kind: kind(dependency)? });
                }
            }
        }
        Ok(Self { crates, edges })
    }

    pub(crate) fn crates(&self) -> &BTreeSet<String> {
        &self.crates
    }

    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }
}

/// The name and the root file of every library and program that we publish.
pub(crate) fn product_roots(metadata: &str) -> Result<Vec<(String, String)>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let mut roots = Vec::new();
    for package in list(&metadata, "packages")? {
        // Cargo writes an empty list of registries for `publish = false`.
        if package.get("publish").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            continue;
        }
        for target in list(package, "targets")? {
            if list(target, "kind")?.iter().any(|kind| kind == "lib" || kind == "bin") {
                roots.push((text(package, "name")?, text(target, "src_path")?));
            }
        }
    }
    Ok(roots)
}

/// Cargo writes `null` for a normal dependency.
fn kind(dependency: &Value) -> Result<Kind> {
    match dependency.get("kind") {
        None | Some(Value::Null) => Ok(Kind::Shipped),
        Some(Value::String(kind)) if kind == "build" || kind == "normal" => Ok(Kind::Shipped),
        Some(Value::String(kind)) if kind == "dev" => Ok(Kind::Dev),
        Some(other) => bail!("cargo metadata has a dependency of unknown kind {other}"),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value.get(key).and_then(Value::as_array).with_context(|| format!("cargo metadata has no list `{key}`"))
}

fn text(value: &Value, key: &str) -> Result<String> {
    let found = value.get(key).and_then(Value::as_str);
    Ok(found.with_context(|| format!("cargo metadata has no text `{key}`"))?.to_owned())
}
