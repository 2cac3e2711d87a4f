//! Checks that the guard and the tool agree on which files a patch changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::content::joined_text;
use lariat_core::tool::{ToolContext, ToolEffects};
use lariat_guard::{Guard, Query, SessionDirectories, Settings, Trust};
use lariat_host::files::{Sync, Workspace};
use lariat_service::local::RealPaths;
use lariat_tools::{Workbench, default_tools};
use serde_json::json;

use crate::Fixture;

/// Lines for random patches; valid combinations occur often enough.
const LINES: &[&str] = &[
    "--- a/one",
    "+++ b/one",
    "--- a/two",
    "+++ b/two",
    "--- /dev/null",
    "+++ /dev/null",
    "+++ b/new",
    "--- one",
    "+++ deep/new",
    "+++ b/one\t2026-01-01",
    "@@ -1 +1 @@",
    "@@ -0,0 +1 @@",
    "@@ -1 +0,0 @@",
    "-x",
    "+y",
    " x",
    "",
    "-- x",
    "diff --git a/one b/two",
    "rename from one",
    "rename to moved",
    "copy from one",
    "*** Begin Patch",
    "*** Add File: new",
    "*** Update File: one",
    "*** Update File: two ",
    "*** Delete File: two",
    "*** Move to: moved",
    "*** End Patch",
    "@@",
];

/// Valid beginnings, so that the parser often reads the lines after them.
const STARTS: &[&[&str]] = &[
    &[],
    &["--- a/one", "+++ b/one", "@@ -1 +1 @@", "-x", "+y"],
    &["--- a/one", "+++ b/moved", "@@ -1 +1 @@", "-x", "+y"],
    &["rename from one", "rename to moved"],
    &["--- /dev/null", "+++ b/new", "@@ -0,0 +1 @@", "+y"],
    &["*** Begin Patch", "*** Update File: one", "@@", "-x", "+y"],
    &["*** Begin Patch", "*** Update File: one", "*** Move to: moved", "@@", "-x", "+y"],
    &["*** Begin Patch", "*** Delete File: two"],
];

/// A deterministic pseudo-random generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

fn patch(numbers: &mut Numbers) -> String {
    let mut lines: Vec<&str> = STARTS[numbers.below(STARTS.len())].to_vec();
    for _ in 0..numbers.below(9) {
        let at = if numbers.below(3) == 0 { numbers.below(lines.len() + 1) } else { lines.len() };
        lines.insert(at, LINES[numbers.below(LINES.len())]);
    }
    if lines.first() == Some(&"*** Begin Patch") && numbers.below(4) > 0 {
        lines.push("*** End Patch");
    }
    lines.join("\n")
}

/// All files of a directory with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// The guard and the tool read a second `+++` line differently, so a patch changed files that no rule had judged.
#[tokio::test]
async fn guard_judges_exactly_the_files_that_a_patch_touches() {
    let fixture = Fixture::new("patches");
    let project = fixture.project();
    let guard = Guard::new(
        Settings::merge([], Trust::Trusted),
        SessionDirectories::new(&project, fixture.0.join("home")),
        Arc::new(RealPaths),
    );
    let mut numbers = Numbers(7);
    let (mut applied, mut refused) = (0, 0);
    for round in 0..3_000 {
        std::fs::remove_dir_all(&project).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        for name in ["one", "two"] {
            std::fs::write(project.join(name), "x\n").unwrap();
        }
        let arguments = json!({ "patch": patch(&mut numbers) });
        let judged: BTreeSet<PathBuf> = guard
            .written_files(&Query::new("apply_patch", &arguments, ToolEffects::ALL))
            .into_iter()
            .collect();
        let before = files(&project);
        let workspace = Workspace::open(&project).unwrap().with_sync(Sync::Fast);
        let tools = default_tools(&Workbench::new(workspace));
        let tool = tools.iter().find(|tool| tool.name() == "apply_patch").unwrap();
        let context =
            ToolContext::new("c".into(), "apply_patch", "s".into(), "l".into(), CancellationToken::new());
        let result = tool.execute(arguments.clone(), context).await;
        let after = files(&project);
        let names: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
        let touched: BTreeSet<PathBuf> =
            names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect();
        let real = |paths: &BTreeSet<PathBuf>| -> BTreeSet<PathBuf> {
            let top = project.canonicalize().unwrap();
            let beneath = |path: &PathBuf| {
                path.strip_prefix(&project).or_else(|_| path.strip_prefix(&top)).unwrap().to_owned()
            };
            paths.iter().map(beneath).collect()
        };
        let (judged, touched) = (real(&judged), real(&touched));
        match result {
            Err(error) => {
                refused += 1;
                assert!(touched.is_empty(), "round {round}: {arguments}: {error}: {touched:?}");
            }
            Ok(result) => {
                applied += 1;
                assert!(touched.is_subset(&judged), "round {round}: {arguments}: {judged:?}, {touched:?}");
                // A judged file that did not change was rewritten with the same content.
                let told = joined_text(&result.content);
                let named = |path: &PathBuf| told.contains(&*path.to_string_lossy());
                assert!(judged.iter().all(named), "round {round}: {arguments}: {judged:?}: {told}");
                assert!(!judged.is_empty(), "round {round}: {arguments}");
            }
        }
    }
    assert!(applied > 100 && refused > 300, "{applied} applied, {refused} refused");
}
