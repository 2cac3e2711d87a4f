//! Programs that a launch helper starts behave like those that this process starts, and run on without the helper.
//!
//! The launch helper is this test executable itself.

use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{End, Exit, Launch, LaunchHelper, Supervisor};

use crate::temp_directory::{TempDirectory, environment};

#[test]
#[ignore = "runs as the launch helper of other tests"]
fn serve_as_launch_helper() {
    LaunchHelper::serve()
}

fn launch_helper() -> LaunchHelper {
    let program = std::env::current_exe().unwrap();
    LaunchHelper::new(
        program,
        ["--exact", "launch_helper::serve_as_launch_helper", "--ignored", "--nocapture", "--test-threads=1"],
    )
}

/// A supervisor that starts programs itself, and one that uses a launch helper.
pub(crate) async fn supervisors() -> [Supervisor; 2] {
    [Supervisor::new(), with_helper(launch_helper()).await]
}

/// Runs one program first, because the first program does not use the launch helper.
async fn with_helper(helper: LaunchHelper) -> Supervisor {
    let supervisor = Supervisor::with_launch_helper(helper);
    let first = Launch::new("true", "/").with_environment(environment());
    supervisor.run(first, &CancellationToken::new()).await.unwrap();
    supervisor
}

async fn says(supervisor: &Supervisor, command: &str) -> String {
    let launch = Launch::shell(command, "/").with_environment(environment());
    let done = supervisor.run(launch, &CancellationToken::new()).await.unwrap();
    done.output.text().trim().to_owned()
}

/// Prints the id of the process that started the supervisor process of a command.
const GRANDPARENT: &str = "ps -o ppid= -p $PPID | tr -d ' '";

#[tokio::test]
async fn only_the_first_program_is_started_directly() {
    let supervisor = Supervisor::with_launch_helper(launch_helper());
    let own = std::process::id().to_string();
    assert_eq!(says(&supervisor, GRANDPARENT).await.trim(), own);
    let helper = says(&supervisor, GRANDPARENT).await;
    assert_ne!(helper.trim(), own);
    assert_eq!(says(&supervisor, GRANDPARENT).await, helper, "all programs use the same launch helper");
    assert_eq!(says(&supervisor, &format!("ps -o ppid= -p {helper} | tr -d ' \n'")).await, own);
}

#[tokio::test]
async fn launch_helper_has_no_variables_and_its_own_process_group() {
    let supervisor = with_helper(launch_helper()).await;
    let helper = says(&supervisor, GRANDPARENT).await;
    let place = std::path::Path::new("/proc").join(helper.trim());
    assert_eq!(std::fs::read(place.join("environ")).unwrap(), b"");
    assert_eq!(std::fs::read_link(place.join("cwd")).unwrap(), std::path::Path::new("/"));
    let group = says(&supervisor, &format!("ps -o pgid= -p {} | tr -d ' \n'", helper.trim())).await;
    assert_eq!(group, helper.trim(), "it must not receive signals from the terminal");
}

#[tokio::test]
async fn killed_launch_helper_is_replaced_and_its_programs_continue() {
    let folder = TempDirectory::new();
    let supervisor = with_helper(launch_helper()).await;
    let command = "until [ -e go ]; do sleep 0.01; done; echo done";
    let launch = Launch::shell(command, folder.path()).with_environment(environment());
    let process = supervisor.start(launch).await.unwrap();
    let helper = says(&supervisor, GRANDPARENT).await;
    assert_eq!(says(&supervisor, &format!("kill -9 {helper}; echo killed")).await, "killed");
    let another = says(&supervisor, GRANDPARENT).await;
    assert_ne!(another, helper);
    std::fs::write(folder.path().join("go"), "").unwrap();
    let done = tokio::time::timeout(Duration::from_secs(5), process.wait()).await.unwrap();
    assert_eq!((done.exit, done.end, done.output.text().as_str()), (Exit::Code(0), End::Exited, "done\n"));
}

#[tokio::test]
async fn works_without_a_launch_helper_that_cannot_start() {
    let supervisor = with_helper(LaunchHelper::new("/nowhere/helper", [] as [&str; 0])).await;
    assert_eq!(says(&supervisor, GRANDPARENT).await.trim(), std::process::id().to_string());
}

#[tokio::test]
async fn works_without_a_launch_helper_that_ends_with_an_order() {
    let supervisor = with_helper(LaunchHelper::new("/bin/true", [] as [&str; 0])).await;
    let launch = Launch::shell("echo done", "/").with_environment(environment());
    let cancel = CancellationToken::new();
    let started = tokio::time::timeout(Duration::from_secs(5), supervisor.run(launch, &cancel));
    let started = started.await.unwrap();
    assert_eq!(started.unwrap().output.text(), "done\n");
}

#[tokio::test]
async fn launch_helper_ends_with_its_owner() {
    let supervisor = with_helper(launch_helper()).await;
    let helper = says(&supervisor, GRANDPARENT).await;
    drop(supervisor);
    // Dropping waits for the helper to end, so not even a zombie is left.
    assert!(!std::path::Path::new("/proc").join(helper).exists(), "the launch helper is still running");
}
