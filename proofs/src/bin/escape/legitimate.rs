//! Legitimate paths, which no tool may refuse: as many spellings of paths inside as of paths outside.

use std::collections::BTreeMap;

use lariat_host::files::{Access, Sync, Workspace};
use lariat_tools::{Workbench, file_tools};
use serde_json::json;

use crate::calls::{READ, answer, call, patch};
use crate::fixture::text;
use crate::{Fixture, Report, Watchdog};

/// Fewer paths than this prove little.
const AT_LEAST: usize = 500;

pub(crate) fn run() -> Result<Report, String> {
    let fixture = Fixture::new("legitimate")?;
    let watchdog = Watchdog::new();
    let paths = collect(&fixture)?;
    let workspace = Workspace::open(fixture.inside("")).map_err(text)?.with_sync(Sync::Fast);
    let workspace = workspace.with_root(fixture.base.join("more"), Access::ReadWrite).map_err(text)?;
    let bench = Workbench::new(workspace);
    let tools = file_tools(&bench);
    let mut faults = Vec::new();
    let mut calls = 0;
    if paths.len() < AT_LEAST {
        faults.push(format!("only {} paths", paths.len()));
    }
    for (path, token) in &paths {
        let mut steps = vec![
            (READ.0, json!({ "path": path }), true),
            (
                "edit_file",
                json!({ "path": path, "old_string": token, "new_string": format!("{token}!") }),
                true,
            ),
            (
                "multi_edit",
                json!({ "path": path, "edits": [{ "old_string": format!("{token}!"), "new_string": token }] }),
                true,
            ),
            ("write_file", json!({ "path": path, "content": format!("{token}\n") }), false),
        ];
        // A patch names a file on a line, without surrounding spaces.
        if path.trim() == path && !path.contains('\n') {
            steps.push((
                "apply_patch",
                patch(&format!("*** Update File: {path}\n@@\n {token}\n+x\n")),
                false,
            ));
            steps.push((
                "apply_patch",
                patch(&format!("*** Update File: {path}\n@@\n {token}\n-x\n")),
                false,
            ));
        }
        if let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) {
            steps.push(("list_files", json!({ "path": folder }), false));
        }
        for (name, arguments, shows) in steps {
            calls += 1;
            let result = watchdog.watch(|| format!("{name} {path:?}"), || call(&tools, name, arguments));
            let answer = answer(&result);
            if result.is_err() || (shows && !answer.contains(token)) {
                faults.push(format!("{name} {path:?} was refused: {answer}"));
            }
        }
    }
    if let Some(path) = fixture.changed_outside()?.filter(|path| !path.contains("/more")) {
        faults.push(format!("{path} was changed"));
    }
    let line = format!("legitimate paths: {}, calls: {calls}, faults: {}", paths.len(), faults.len());
    Ok(Report { faults, line })
}

/// Paths, each with a word from the file it leads to.
fn collect(fixture: &Fixture) -> Result<BTreeMap<String, String>, String> {
    let names = [
        "plain.txt",
        "with space.txt",
        " leading",
        "trailing ",
        "-dash",
        "--",
        "...",
        "..a",
        "a..",
        ".hidden",
        "Größe.txt",
        "日本語.md",
        "😀",
        "e\u{301}",
        "é",
        "UPPER",
        "upper",
        "tab\there",
        "back\\slash",
        "new\nline",
        "quote'\"",
        "$HOME",
        "%2e%2e",
        "a;b",
        "a|b",
        "*",
        "?",
        "[x]",
        "#x",
        "~tilde",
        "nul",
        "CON",
        "\u{202e}rtl",
        "\u{200b}",
        "very.long.name.with.many.dots.tar.gz",
        "file:x",
        "C:",
        "@@ -1 +1 @@",
    ];
    let mut found = BTreeMap::new();
    let mut count = 0;
    std::fs::create_dir_all(fixture.base.join("more/deep")).map_err(text)?;
    fixture.link("to-a", "a")?;
    fixture.link("a/back", "..")?;
    fixture.link("abs-to-b", fixture.inside("a/b"))?;
    fixture.link("a/b/around", "../../../ws/a")?;
    fixture.link("to-more", fixture.base.join("more"))?;
    fixture.link("rel-to-more", "../more")?;
    for step in 1..30 {
        fixture.link(
            &format!("chain/{step}"),
            if step == 1 { "../a/b".to_owned() } else { format!("{}", step - 1) },
        )?;
    }
    let mut put = |folder: &str, name: &str| -> Result<String, String> {
        count += 1;
        let token = format!("token{count:04}");
        fixture.put(&format!("{folder}{name}"), &format!("{token}\n"))?;
        Ok(token)
    };
    let long = "n".repeat(255);
    for name in names.iter().copied().chain([long.as_str()]) {
        let token = put("a/b/", name)?;
        let absolute = fixture.absolute("ws");
        let spelled = [
            format!("a/b/{name}"),
            format!("./a/./b/{name}"),
            format!("a//b/{name}"),
            format!("a/b/../b/{name}"),
            format!("a/b/c/../{name}"),
            format!("{absolute}/a/b/{name}"),
            format!("{absolute}/../ws/a/b/{name}"),
            format!("../ws/a/b/{name}"),
            format!("to-a/b/{name}"),
            format!("a/back/a/b/{name}"),
            format!("abs-to-b/{name}"),
            format!("a/b/around/b/{name}"),
            format!("chain/29/{name}"),
            format!("{absolute}/abs-to-b/{name}"),
        ];
        found.extend(spelled.into_iter().map(|path| (path, token.clone())));
    }
    let deep = "d/".repeat(200);
    let token = put(&deep, "end")?;
    found.insert(format!("{deep}end"), token);
    for (index, name) in ["x", "deep/y"].into_iter().enumerate() {
        let token = format!("more{index:04}");
        std::fs::write(fixture.base.join("more").join(name), format!("{token}\n")).map_err(text)?;
        for path in [
            fixture.absolute(&format!("more/{name}")),
            format!("to-more/{name}"),
            format!("rel-to-more/{name}"),
            format!("../more/{name}"),
        ] {
            found.insert(path, token.clone());
        }
    }
    Ok(found)
}
