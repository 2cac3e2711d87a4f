//! `lariat init`: writes AGENTS.md and lariat.toml for a project.
//!
//! Writes only what the project's files say and guesses nothing. Existing files stay unchanged.

use std::path::Path;

use lariat_service::local::CLAUDE_FILES;
use lariat_service::trust::{Difference, TrustStatus, TrustStore};
use lariat_service::{LoadedProject, ServiceError};
use serde_json::Value;

use super::{CommandResult, confirm, print, template};
use crate::args::manage::InitArgs;
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// What the project's files say about it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Project {
    name: String,
    made_with: Vec<&'static str>,
    commands: Vec<(&'static str, String)>,
}

/// Writes the missing ones of the two files, after confirmation.
pub(crate) fn init(env: &ProcessEnv, args: &InitArgs) -> CommandResult {
    let place = env.load_project(&env.load_options(None))?;
    let folder = place.path();
    let project = detect_project(folder);
    let mut files = vec![("AGENTS.md", agents(&project)), ("lariat.toml", template::project())];
    // Lariat does not read an AGENTS.md next to a CLAUDE.md.
    if let Some(name) = CLAUDE_FILES.iter().find(|name| folder.join(name).symlink_metadata().is_ok()) {
        print::note(&format!("{name} exists, so AGENTS.md is not written: Lariat reads only one of them"));
        files.retain(|(name, _)| *name != "AGENTS.md");
    }
    let (existing, missing): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(name, _)| folder.join(name).symlink_metadata().is_ok());
    existing.iter().for_each(|(name, _)| print::note(&format!("{name} exists and stays unchanged")));
    if missing.is_empty() {
        return Ok(Exit::Done);
    }
    for (name, text) in &missing {
        print::line(&format!("--- {name}\n{text}"));
    }
    if !confirm::confirm(env, "Write these files?", args.yes)? {
        return Ok(Exit::Done);
    }
    for (name, text) in &missing {
        files::write_new(&folder.join(name), text)?;
        print::note(&format!("wrote {name}"));
    }
    keep_trust(env, &place, &missing)?;
    Ok(Exit::Done)
}

/// Extends the trust in a trusted project to the files just written, if nothing else changed.
fn keep_trust(env: &ProcessEnv, before: &LoadedProject, written: &[(&str, String)]) -> Result<(), Problem> {
    if !before.opened.standing.is_trusted() {
        print::note("note: Lariat uses these files once you trust the project: run `lariat trust`");
        return Ok(());
    }
    let now = env.load_project(&env.load_options(None))?;
    let TrustStatus::Changed(differences) = &now.opened.standing else { return Ok(()) };
    let root = now.opened.territory.root();
    let is_ours = |one: &Difference| {
        let (path, text) = (root.join(&one.path), one.now.as_deref());
        written.iter().any(|(name, ours)| path == before.path().join(name) && text == Some(ours))
    };
    if differences.iter().all(is_ours) {
        now.opened.accept(&TrustStore::new(env.folders.trust())).map_err(ServiceError::from)?;
    }
    Ok(())
}

/// Detects languages and commands from the files of a project.
fn detect_project(folder: &Path) -> Project {
    let text = |name: &str| files::text(&folder.join(name));
    let has = |name: &str| folder.join(name).exists();
    let mut project = Project {
        name: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        ..Project::default()
    };
    let mut add = |with: &'static str, commands: Vec<(&'static str, String)>| {
        project.made_with.push(with);
        project.commands.extend(commands);
    };
    let fixed = |commands: &[(&'static str, &str)]| {
        commands.iter().map(|(what, command)| (*what, (*command).to_owned())).collect::<Vec<_>>()
    };
    if has("Cargo.toml") {
        add(
            "Rust (Cargo)",
            fixed(&[
                ("build", "cargo build"),
                ("test", "cargo test"),
                ("lint", "cargo clippy --all-targets"),
                ("format", "cargo fmt"),
            ]),
        );
    }
    if let Some(text) = text("package.json") {
        let runner =
            [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
        let runner = runner.iter().find(|(lock, _)| has(lock)).map_or("npm", |(_, runner)| runner);
        add("JavaScript (package.json)", scripts(&text, runner));
    }
    if let Some(text) = text("pyproject.toml") {
        add("Python (pyproject.toml)", python(&text, has("uv.lock")));
    } else if has("requirements.txt") || has("setup.py") {
        add("Python", Vec::new());
    }
    if has("go.mod") {
        add("Go", fixed(&[("build", "go build ./..."), ("test", "go test ./..."), ("lint", "go vet ./...")]));
    }
    if has("pom.xml") {
        add("Java (Maven)", fixed(&[("build", "mvn package"), ("test", "mvn test")]));
    }
    if has("gradlew") {
        add("Gradle", fixed(&[("build", "./gradlew build"), ("test", "./gradlew test")]));
    }
    if has("CMakeLists.txt") {
        add(
            "CMake",
            fixed(&[("build", "cmake -B build && cmake --build build"), ("test", "ctest --test-dir build")]),
        );
    }
    for name in ["Makefile", "makefile", "GNUmakefile"] {
        if let Some(text) = text(name) {
            add("make", targets(&text, "make"));
            break;
        }
    }
    if let Some(text) = text("justfile").or_else(|| text("Justfile")) {
        add("just", targets(&text, "just"));
    }
    project
}

/// Script and target names worth listing.
const USUAL: &[&str] = &["build", "test", "lint", "check", "format", "fmt"];

/// The usual scripts in a `package.json`.
fn scripts(text: &str, runner: &str) -> Vec<(&'static str, String)> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let has = |name: &str| value.get("scripts").and_then(|scripts| scripts.get(name)).is_some();
    let usual = USUAL.iter().filter(|name| has(name));
    usual.map(|name| (*name, format!("{runner} run {name}"))).collect()
}

/// The tools configured in a `pyproject.toml`.
fn python(text: &str, uv: bool) -> Vec<(&'static str, String)> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let tool = |name: &str| table.get("tool").and_then(|tools| tools.get(name)).is_some();
    let run = |command: &str| if uv { format!("uv run {command}") } else { command.to_owned() };
    let mut commands = Vec::new();
    if tool("pytest") || text.contains("pytest") {
        commands.push(("test", run("pytest")));
    }
    if tool("ruff") {
        commands.extend([("lint", run("ruff check")), ("format", run("ruff format"))]);
    }
    if tool("mypy") {
        commands.push(("check", run("mypy .")));
    }
    commands
}

/// The usual targets in a makefile or justfile.
fn targets(text: &str, runner: &str) -> Vec<(&'static str, String)> {
    let has = |name: &str| {
        text.lines().any(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.trim_start().starts_with(':') && !rest.contains(":="))
        })
    };
    let usual = USUAL.iter().filter(|name| has(name));
    usual.map(|name| (*name, format!("{runner} {name}"))).collect()
}

/// The text of AGENTS.md.
fn agents(project: &Project) -> String {
    let mut text = format!("# {}\n\n", project.name);
    if project.made_with.is_empty() {
        text.push_str("Describe what this project is, and how to build and test it.\n");
    } else {
        text.push_str(&format!("Built with {}.\n", project.made_with.join(", ")));
    }
    if !project.commands.is_empty() {
        text.push_str("\n## Commands\n\n");
        for (what, command) in &project.commands {
            text.push_str(&format!("- {what}: `{command}`\n"));
        }
    }
    text.push_str("\n## Rules\n\n- Run the tests before you report that something is done.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_only_scripts_that_exist() {
        let text = r#"{ "scripts": { "test": "vitest", "start": "node ." } }"#;
        assert_eq!(scripts(text, "pnpm"), [("test", "pnpm run test".to_owned())]);
        assert_eq!(scripts("{", "npm"), []);
    }

    #[test]
    fn ignores_variables_and_recipe_lines() {
        let text = "build := x\ntest: build\n\tcargo test\nlint :\n\tformat: no\n";
        assert_eq!(
            targets(text, "make"),
            [("test", "make test".to_owned()), ("lint", "make lint".to_owned())]
        );
    }

    #[test]
    fn lists_tools_of_pyproject() {
        let text = "[tool.pytest.ini_options]\n[tool.ruff]\n";
        let commands = python(text, true);
        let commands: Vec<&str> = commands.iter().map(|(_, command)| command.as_str()).collect();
        assert_eq!(commands, ["uv run pytest", "uv run ruff check", "uv run ruff format"]);
        assert_eq!(python("[project]\nname = 'x'\n", false), []);
    }

    #[test]
    fn empty_project_has_no_commands_section() {
        let text = agents(&Project { name: "x".to_owned(), ..Project::default() });
        assert!(!text.contains("## Commands"), "{text}");
    }
}
