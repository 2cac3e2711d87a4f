//! Which files `AgentOutput::files_changed` lists when the built-in tools change them.

use lariat::host::files::Workspace;
use lariat::run::ChangeKind;
use lariat::serde_json::json;
use lariat::tool::{Workbench, default_tools};
use lariat::{Agent, AllowAll};
use lariat_test::{Reply, ScriptedModel};

use super::test_dirs::TestDirs;

#[tokio::test]
async fn output_lists_exactly_the_files_that_file_tools_changed() {
    let dirs = TestDirs::new();
    for (name, text) in
        [("old.txt", "one\ntwo\n"), ("same.txt", "same\n"), ("from.txt", "moved\n"), ("gone.txt", "x\n")]
    {
        dirs.write(&format!("project/{name}"), text);
    }
    let patch = "*** Begin Patch\n*** Add File: added.txt\n+new\n*** Update File: from.txt\n*** Move to: to.txt\n\
                 @@\n-moved\n+and changed\n*** Delete File: gone.txt\n*** End Patch";
    let calls = [
        ("read_file", json!({"path": "old.txt"})),
        ("edit_file", json!({"path": "old.txt", "old_string": "two", "new_string": "three"})),
        ("edit_file", json!({"path": "old.txt", "old_string": "no such text", "new_string": "x"})),
        ("write_file", json!({"path": "made.txt", "content": "made\n"})),
        ("edit_file", json!({"path": "made.txt", "old_string": "made", "new_string": "again"})),
        ("read_file", json!({"path": "same.txt"})),
        ("write_file", json!({"path": "same.txt", "content": "same\n"})),
        ("read_file", json!({"path": "from.txt"})),
        ("read_file", json!({"path": "gone.txt"})),
        ("apply_patch", json!({"patch": patch})),
    ];
    let replies = calls.into_iter().enumerate();
    let replies =
        replies.map(|(index, (tool, arguments))| Reply::tool_call(format!("call-{index}"), tool, arguments));
    let model = ScriptedModel::new(replies.chain([Reply::text("done")]));
    let bench = Workbench::new(Workspace::open(dirs.path("project")).unwrap());
    let agent = Agent::builder()
        .model(model)
        .tools(default_tools(&bench))
        .permission_policy(AllowAll)
        .build()
        .unwrap();
    let output = agent.run("Change things.").await.unwrap();
    assert_eq!(output.text, "done");
    let changed: Vec<_> = output.files_changed.iter().map(|file| (file.path.as_str(), file.change)).collect();
    let expected = [
        ("old.txt", ChangeKind::Modified),
        ("made.txt", ChangeKind::Added),
        ("added.txt", ChangeKind::Added),
        ("from.txt", ChangeKind::Deleted),
        ("to.txt", ChangeKind::Added),
        ("gone.txt", ChangeKind::Deleted),
    ];
    assert_eq!(changed, expected, "{:#?}", output.messages);
}
