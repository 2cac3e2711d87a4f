//! Runs scenario directories: files before, tool calls, files after. They can be read and added without writing code.
//!
//! `before/` is the workspace. `call.json` is a list of steps: `{"tool": …, "arguments": …}`, or `{"change": path,
//! "content": …}` for a change by another program (`"how": "save"` saves as an editor does, under a new inode). Every
//! tool call except the last must succeed. The last one yields `result.txt`, or `error.txt`; in the latter case it
//! must not have changed anything. `after/` is the workspace afterwards, if a tool call changed it. `generate.json`
//! creates files that are too large to commit.
//!
//! `LARIAT_BLESS=1` writes what happened as the expected outcome; check the difference before you commit it.
#![expect(clippy::disallowed_methods, reason = "tests check the files without going through the workspace")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lariat_core::cancel::CancellationToken;
use lariat_core::content::Content;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::tool::{ToolContext, ToolError, ToolResult};
use lariat_host::files::{Sync, Workspace};
use lariat_tools::{Workbench, default_tools};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// If there are fewer, the scenarios were not found.
const AT_LEAST: usize = 80;

/// A file: the target of a link, or mode and content.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ScenarioFile {
    Link(PathBuf),
    File(bool, Vec<u8>),
}

type Files = BTreeMap<PathBuf, ScenarioFile>;

/// Too large for a scenario directory.
#[tokio::test]
async fn reads_images_and_pdfs_up_to_20_mib() {
    const LIMIT: u64 = 20 * 1024 * 1024;
    let fixture = Fixture::new();
    for (name, magic) in [("a.png", b"\x89PNG\r\n\x1A\n".as_slice()), ("a.pdf", b"%PDF-1.7\n")] {
        fixture.put(name, magic);
        let file = fs::OpenOptions::new().write(true).open(fixture.base.join("ws").join(name)).unwrap();
        file.set_len(LIMIT + 1).unwrap();
        let error = fixture.error("read_file", json!({ "path": name })).await;
        assert!(error.contains("has 20971521 bytes; the limit for one call is 20971520"), "{name}: {error}");
        file.set_len(LIMIT).unwrap();
        match fixture.call("read_file", json!({ "path": name })).await {
            Ok(result) => assert!(matches!(&result.content[..], [Content::Image { .. }, ..]), "{name}"),
            // The document has no pages; its size is accepted.
            Err(error) => assert!(name == "a.pdf" && error.to_string().contains("is damaged"), "{error}"),
        }
    }
}

#[test]
fn every_scenario_has_the_expected_outcome() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= AT_LEAST, "only {} scenarios", names.len());
    let failures: Vec<String> = names.iter().filter_map(|name| run(name).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} scenarios failed:\n{}",
        failures.len(),
        names.len(),
        failures.join("\n")
    );
}

fn run(scenario: &Path) -> Result<(), String> {
    let name = scenario.file_name().unwrap().to_string_lossy().into_owned();
    let fixture = std::env::temp_dir().join(format!("lariat-scenario-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&fixture);
    fs::create_dir_all(&fixture).unwrap();
    let fixture = fs::canonicalize(fixture).unwrap();
    put(&fixture, &files(&scenario.join("before")));
    let generated = generated(scenario);
    put(&fixture, &generated.before);
    let outcome = run_steps(scenario, &fixture);
    let (now, empty_now) = (files(&fixture), empty_folders(&fixture));
    fs::remove_dir_all(&fixture).unwrap();
    let ScenarioRun { before, empty, result } = outcome.map_err(|error| format!("{name}: {error}"))?;
    let place = fixture.display().to_string();
    let (kind, text) = match result {
        Ok(result) => ("result.txt", shown(&result)),
        Err(error) => ("error.txt", format!("{error}\n")),
    };
    let text = text.replace(&place, "{workspace}");
    if kind == "error.txt" && now != before {
        return Err(format!("{name}: the tool call failed but changed files"));
    }
    if kind == "error.txt" && empty_now != empty {
        return Err(format!("{name}: the tool call failed but left other empty directories: {empty_now:?}"));
    }
    if let Some(temporary) = now.keys().find(|path| path.to_string_lossy().contains(".lariat-")) {
        return Err(format!("{name}: left {} behind", temporary.display()));
    }
    if std::env::var_os("LARIAT_BLESS").is_some() {
        bless(scenario, kind, &text, &before, &now, &generated);
        return Ok(());
    }
    let expected = fs::read_to_string(scenario.join(kind))
        .map_err(|_| format!("{name}: {kind} is missing; the result was:\n{text}"))?;
    if expected != text {
        return Err(format!("{name}: {kind} should be\n{expected}\nbut is\n{text}"));
    }
    let after = scenario.join("after");
    let mut wanted = if after.exists() { files(&after) } else { before };
    if after.exists() {
        wanted.extend(generated.after);
    } else if !generated.after.is_empty() {
        wanted = generated.after;
    }
    match wanted.iter().find(|(path, found)| now.get(*path) != Some(*found)) {
        Some((path, wanted)) => {
            let now = now.get(path).map(describe);
            Err(format!("{name}: {} should be\n{}\nbut is\n{now:?}", path.display(), describe(wanted)))
        }
        None if wanted.len() != now.len() => Err(format!("{name}: there are unexpected files")),
        None => Ok(()),
    }
}

fn describe(found: &ScenarioFile) -> String {
    match found {
        ScenarioFile::Link(target) => format!("a link to {}", target.display()),
        ScenarioFile::File(executable, bytes) => {
            format!(
                "executable {executable}, {:?}",
                String::from_utf8_lossy(bytes).chars().take(400).collect::<String>()
            )
        }
    }
}

struct ScenarioRun {
    /// The files before the last tool call.
    before: Files,
    empty: BTreeSet<PathBuf>,
    result: Result<ToolResult, ToolError>,
}

fn run_steps(scenario: &Path, fixture: &Path) -> Result<ScenarioRun, String> {
    let steps = fs::read_to_string(scenario.join("call.json")).map_err(|error| error.to_string())?;
    let steps = steps.replace("{workspace}", &fixture.display().to_string());
    let steps: Vec<Value> = serde_json::from_str(&steps).map_err(|error| error.to_string())?;
    let workspace = Workspace::open(fixture).map_err(|error| error.to_string())?.with_sync(Sync::Fast);
    let tools = default_tools(&Workbench::new(workspace));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| error.to_string())?;
    let count = steps.len();
    for (index, step) in steps.iter().enumerate() {
        if let Some(path) = step["change"].as_str() {
            let path = fixture.join(path);
            let content = step["content"].as_str().unwrap_or_default();
            match step["how"].as_str() {
                Some("save") => {
                    fs::write(fixture.join("saving"), content).unwrap();
                    fs::rename(fixture.join("saving"), path).unwrap();
                }
                Some("remove") => fs::remove_file(path).unwrap(),
                _ => fs::write(path, content).unwrap(),
            }
            continue;
        }
        let name = step["tool"].as_str().ok_or("a step has neither `tool` nor `change`")?;
        let tool = tools.iter().find(|tool| tool.name() == name).ok_or(format!("no tool {name}"))?;
        let context = ToolContext::new(
            "call".into(),
            name,
            SessionId::from("s"),
            LoopId::from("l"),
            CancellationToken::new(),
        );
        let (before, empty) = (files(fixture), empty_folders(fixture));
        let preview = runtime.block_on(tool.preview(&step["arguments"]));
        if files(fixture) != before {
            return Err(format!("step {}: the preview changed something", index + 1));
        }
        let result = runtime.block_on(tool.execute(step["arguments"].clone(), context));
        check_preview(&preview, &result).map_err(|words| format!("step {}: {words}", index + 1))?;
        if index + 1 == count {
            return Ok(ScenarioRun { before, empty, result });
        }
        result.map_err(|error| format!("step {}: {error}", index + 1))?;
    }
    Err("the last step must be a tool call".to_owned())
}

/// Checks that a preview shows exactly the diffs of the result, and that a successful call has a preview.
fn check_preview(
    preview: &Result<Option<String>, ToolError>,
    result: &Result<ToolResult, ToolError>,
) -> Result<(), String> {
    let Ok(done) = result else { return Ok(()) };
    let files = done.details["files"].as_array().cloned().unwrap_or_else(|| vec![done.details.clone()]);
    let diffs: String = files.iter().filter_map(|file| file["diff"].as_str()).collect();
    match preview {
        Err(error) => Err(format!("the preview of a successful tool call failed: {error}")),
        Ok(Some(shown)) if !shown.ends_with(&diffs) => Err(format!("preview: {shown}\nresult: {diffs}")),
        Ok(None) if !diffs.is_empty() => Err("the preview did not show a change".to_owned()),
        Ok(_) => Ok(()),
    }
}

/// The text for the model, then the diff that a front end shows.
fn shown(result: &ToolResult) -> String {
    let mut text = String::new();
    for content in &result.content {
        match content {
            Content::Text { text: block } => text.push_str(block),
            Content::Image { data, mime_type } => text.push_str(&format!("<{mime_type}: {data}>\n")),
            other => text.push_str(&format!("{other:?}\n")),
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let files = result.details["files"].as_array().cloned().unwrap_or_else(|| vec![result.details.clone()]);
    for diff in files.iter().filter_map(|file| file["diff"].as_str()) {
        let lines = diff.lines().map(|line| line.chars().take(160).collect::<String>());
        let lines: Vec<_> = lines.take(60).collect();
        text.push_str(&format!("\ndiff:\n{}\n", lines.join("\n")));
    }
    let lines: Vec<_> = text.lines().collect();
    if lines.len() <= 40 {
        return text;
    }
    // Of long results, only the start and the end are compared.
    let (head, tail) = (lines[..20].join("\n"), lines[lines.len() - 20..].join("\n"));
    format!("{head}\n{{{} lines}}\n{tail}\n", lines.len() - 40)
}

#[derive(Default)]
struct GeneratedFiles {
    before: Files,
    after: Files,
}

/// `{"before": {path: [[text, count], …]}, "after": …}`.
fn generated(scenario: &Path) -> GeneratedFiles {
    let Ok(text) = fs::read_to_string(scenario.join("generate.json")) else {
        return GeneratedFiles::default();
    };
    let note: Value = serde_json::from_str(&text).unwrap();
    let made = |side: &str| -> Files {
        let files = note[side].as_object().cloned().unwrap_or_default();
        files
            .into_iter()
            .map(|(path, parts)| {
                let parts = parts.as_array().unwrap().iter();
                let part = |part: &Value| {
                    let (text, count) = (part[0].as_str().unwrap(), part[1].as_u64().unwrap());
                    (1..=count).map(|index| text.replace("{n}", &index.to_string())).collect::<String>()
                };
                (path.into(), ScenarioFile::File(false, parts.map(part).collect::<String>().into_bytes()))
            })
            .collect()
    };
    GeneratedFiles { before: made("before"), after: made("after") }
}

fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(here) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&here) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if kind.is_dir() {
                ahead.push(path);
            } else if kind.is_symlink() {
                found.insert(name, ScenarioFile::Link(fs::read_link(path).unwrap()));
            } else {
                found.insert(
                    name,
                    ScenarioFile::File(kind.permissions().mode() & 0o100 != 0, fs::read(path).unwrap()),
                );
            }
        }
    }
    // Git does not accept a `.git` here, and would apply a `.gitignore`, so the files are named `dot.…`.
    let named = |path: PathBuf| PathBuf::from(path.to_string_lossy().replace("dot.", "."));
    found.into_iter().map(|(path, file)| (named(path), file)).collect()
}

/// Empty directories, which git cannot store.
fn empty_folders(folder: &Path) -> BTreeSet<PathBuf> {
    let inner = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let inner: Vec<PathBuf> = inner.collect();
    if inner.is_empty() {
        return BTreeSet::from([folder.to_owned()]);
    }
    let folders = inner.iter().filter(|path| path.is_dir() && !path.is_symlink());
    folders.flat_map(|path| empty_folders(path)).collect()
}

fn put(folder: &Path, files: &Files) {
    for (path, found) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match found {
            ScenarioFile::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            ScenarioFile::File(executable, bytes) => {
                fs::write(&path, bytes).unwrap();
                if *executable {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
                }
            }
        }
    }
}

fn bless(scenario: &Path, kind: &str, text: &str, before: &Files, now: &Files, generated: &GeneratedFiles) {
    for old in ["result.txt", "error.txt"] {
        let _ = fs::remove_file(scenario.join(old));
    }
    let _ = fs::remove_dir_all(scenario.join("after"));
    fs::write(scenario.join(kind), text).unwrap();
    if now != before || *before != files(&scenario.join("before")) && generated.before.is_empty() {
        let mut kept = now.clone();
        kept.retain(|path, _| !generated.before.contains_key(path));
        fs::create_dir_all(scenario.join("after")).unwrap();
        put(&scenario.join("after"), &kept);
    }
}
