//! Tests of loading definitions of sub-agents.

#![expect(clippy::disallowed_methods, reason = "tests create the files that sub-agents are loaded from")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

fn load(files: &[(&str, &str)]) -> AgentSet {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("lariat-agents-{}-{n}", std::process::id()));
    for (path, text) in files {
        let path = folder.join("agents").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let set = AgentSet::load_in(&Workspace::open(&folder).unwrap(), "agents", "project");
    let _ = fs::remove_dir_all(&folder);
    set
}

const REVIEW: &str = "---\nname: review\ndescription: Reviews code.\ntools: Read, Grep\ndisallowedTools: Bash\nmodel: haiku\n\
    permissionMode: plan\nmaxTurns: 7\nskills: [style, tests]\nbackground: true\ncolor: red\n---\nYou review code.\n";

#[test]
fn reads_every_supported_field() {
    let set = load(&[("team/any.md", REVIEW)]);
    let agent = set.find("Review").unwrap();
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("review", "Reviews code."));
    assert_eq!(agent.tools.as_deref().unwrap(), ["Read", "Grep"]);
    assert_eq!(agent.disallowed_tools, ["Bash"]);
    assert_eq!((agent.model.as_deref(), agent.permission_mode.as_deref()), (Some("haiku"), Some("plan")));
    assert_eq!(
        (agent.max_turns, agent.skills.as_slice()),
        (Some(7), &["style".to_owned(), "tests".to_owned()][..])
    );
    assert_eq!((agent.prompt.as_str(), agent.source.as_str()), ("You review code.", "project"));
    assert!(agent.file_path.ends_with(Path::new("agents/team/any.md")));
    assert!(agent.is_background);
    assert_eq!(set.warnings(), []);
}

#[test]
fn missing_tools_mean_all_and_an_empty_list_means_none() {
    let set = load(&[
        ("all.md", "---\ndescription: a\nmodel: inherit\n---\nx"),
        ("none.md", "---\ndescription: a\ntools: []\n---\nx"),
    ]);
    assert_eq!(set.find("all").unwrap().tools, None);
    assert_eq!(set.find("all").unwrap().model, None);
    assert_eq!(set.find("none").unwrap().tools, Some(Vec::new()));
}

#[test]
fn definition_without_description_or_with_a_wrong_limit_is_skipped_and_reported() {
    let set = load(&[("a.md", "no front matter"), ("b.md", "---\ndescription: b\nmaxTurns: many\n---\nx")]);
    assert!(set.agents().is_empty());
    assert_eq!(set.warnings().len(), 2);
}

#[test]
fn ignored_keys_are_reported_and_plugins_set_no_mode() {
    let set = load(&[(
        "a.md",
        "---\ndescription: a\nisolation: worktree\npermissionMode: bypassPermissions\n---\n${ROOT}/x",
    )]);
    assert!(set.warnings()[0].1.contains("isolation"), "{:?}", set.warnings());
    let set = set.of_plugin("kit", |text| text.replace("${ROOT}", "/kit"));
    let agent = set.find("kit:a").unwrap();
    assert_eq!((agent.permission_mode.as_deref(), agent.prompt.as_str()), (None, "/kit/x"));
}

#[test]
fn later_definition_of_a_name_wins() {
    let mut set = AgentSet::of([AgentDefinition::new("explore", "built in", "")]);
    set.merge(load(&[("explore.md", "---\ndescription: mine\n---\nx")]));
    assert_eq!(set.agents().len(), 1);
    assert_eq!(set.find("explore").unwrap().description, "mine");
}
