//! Reads the table of allowed dependencies from ARCHITECTURE.md.
//!
//! Format: markdown rows `| crate | may depend on |` between two HTML comments, crate names in backticks, the
//! word `nothing` for an empty set.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

const BEGIN: &str = "<!-- layers:begin -->";
const END: &str = "<!-- layers:end -->";

/// For each crate, the crates it may depend on.
pub(crate) struct Table {
    rows: BTreeMap<String, BTreeSet<String>>,
}

impl Table {
    pub(crate) fn read(page: &str) -> Result<Self> {
        let (_, after) = page
            .split_once(BEGIN)
            .with_context(|| format!("`{BEGIN}` is missing before the table of layers"))?;
        let (body, _) =
            after.split_once(END).with_context(|| format!("`{END}` is missing after the table of layers"))?;
        let mut rows = BTreeMap::new();
        // The first two lines of a markdown table are its header and a separator.
        for line in body.lines().map(str::trim).filter(|line| !line.is_empty()).skip(2) {
            let (name, allowed) = row(line)?;
            if rows.insert(name.clone(), allowed).is_some() {
                bail!("the table of layers has two rows for `{name}`; merge them");
            }
        }
        if rows.is_empty() {
            bail!("the table of layers is empty; add one row for each crate");
        }
        Ok(Self { rows })
    }

    pub(crate) fn rows(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.rows
    }

    pub(crate) fn allowed(&self, name: &str) -> Option<&BTreeSet<String>> {
        self.rows.get(name)
    }
}

fn row(line: &str) -> Result<(String, BTreeSet<String>)> {
    let cells = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    let Some((name, allowed)) = cells.and_then(|cells| cells.split_once('|')) else {
        bail!("`{line}` is not a row `| crate | may depend on |`");
    };
    Ok((crate_name(name, line)?, crate_names(allowed, line)?))
}

fn crate_names(cell: &str, line: &str) -> Result<BTreeSet<String>> {
    if cell.trim() == "nothing" {
        return Ok(BTreeSet::new());
    }
    cell.split(',').map(|name| crate_name(name, line)).collect()
}

fn crate_name(cell: &str, line: &str) -> Result<String> {
    let name = cell.trim().strip_prefix('`').and_then(|name| name.strip_suffix('`'));
    match name {
        Some(name) if !name.is_empty() && !name.contains(['`', ' ', '|']) => Ok(name.to_owned()),
        _ => bail!("`{}` in the row {line} is not a crate name in backticks", cell.trim()),
    }
}
