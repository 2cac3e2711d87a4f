//! Compares the terminal UI of `lariat` with those of other agents in the same run: `cargo xtask bench terminal`.
//!
//! The agents are those of `bench peers`, with its kit and its scripted model. `--short` measures `lariat` alone, without the
//! kit. An agent that does not start is in the table with the reason.

use anyhow::Result;
use serde_json::Value;

use crate::peers::{self, Bench};
use crate::terminal;
use crate::workspace::Workspace;

const AGENTS: &[&str] = &["lariat", "claude", "codex", "opencode", "pi"];
/// Seconds without events, and seconds of a request.
const SECONDS: &str = "30";
/// Starts; the median is shown.
const STARTS: &str = "5";

pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    if matches!(words, [word] if word == "--short") {
        return terminal::short(workspace);
    }
    let options = peers::parse(words)?;
    let Bench { place, program } = Bench::prepare(workspace, &options)?;
    let agents: Vec<&str> = match options.peers.as_slice() {
        [] => AGENTS.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    };
    let results = place.join("terminal.json");
    // What an earlier bench left.
    let _ = std::fs::remove_file(&results);
    peers::bash(&place.join("terminal.sh"), "")
        .with_arguments([results.display().to_string(), SECONDS.to_owned(), STARTS.to_owned()])
        .with_arguments(agents.iter().copied())
        .with_environment("LARIAT", &program)
        .run(workspace)?;
    let measured: Value = serde_json::from_str(&std::fs::read_to_string(&results)?)?;
    let text = format!("{}\n{}\n", table(&measured, &agents), peers::machine("bench terminal"));
    println!("\n{text}");
    if options.write {
        peers::write(workspace, "terminal-peers", &text)?;
    }
    Ok(())
}

/// One row per agent, and a line for each that has no figures.
fn table(measured: &Value, agents: &[&str]) -> String {
    let mut text = format!(
        "| agent | first paint ms | first key shown ms | memory MB | idle {SECONDS} s: bytes | CPU % | waiting {SECONDS} s: bytes | CPU % |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    let mut notes = String::new();
    for agent in agents {
        let show = |path: &str, digits: usize| {
            let figure = measured.pointer(&format!("/{agent}/{path}")).and_then(Value::as_f64);
            figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.digits$}"))
        };
        let cells = [
            (*agent).to_owned(),
            show("paint", 0),
            show("key", 0),
            show("memory", 1),
            show("idle/bytes", 0),
            show("idle/cpu", 2),
            show("waiting/bytes", 0),
            show("waiting/cpu", 2),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if let Some(reason) = measured.pointer(&format!("/{agent}/missing")).and_then(Value::as_str) {
            notes.push_str(&format!("\nNo figures of {agent}: {}.\n", reason.replace('`', "'")));
        }
    }
    text + &notes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::table;

    #[test]
    fn agent_without_figures_has_the_reason() {
        let measured = json!({
            "a": { "paint": 12.3, "idle": { "bytes": 0, "cpu": 0.05 } },
            "b": { "missing": "it ended" },
        });
        let text = table(&measured, &["a", "b"]);
        assert!(text.contains("| a | 12 | – | – | 0 | 0.05 | – | – |"), "{text}");
        assert!(text.contains("| b | – |") && text.contains("No figures of b: it ended."), "{text}");
    }
}
