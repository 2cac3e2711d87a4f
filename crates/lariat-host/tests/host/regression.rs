//! Tests for bugs of lariat-host that were fixed; each says the fault.

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{Launch, Supervisor};
use lariat_host::sandbox::{Backend, Policy, Rule, Sandbox};

use crate::sandbox::{run, ways};
use crate::temp_directory::{TempDirectory, environment};

/// The sandbox protected the path of a link, not the link: a command could replace it or fill its target.
#[tokio::test]
async fn protects_a_link_and_its_target() {
    for (backend, supervisor) in ways().await {
        for there in [true, false] {
            let folder = TempDirectory::new();
            std::os::unix::fs::symlink("real", folder.path().join(".claude")).unwrap();
            if there {
                std::fs::create_dir(folder.path().join("real")).unwrap();
            }
            let policy = Policy::workspace(folder.path(), None);
            let command = "rm .claude; ln -sfn other .claude; mkdir real; echo bad > real/x; mv real other; ls -a .claude/; true";
            let done = run(&folder, (&backend, &supervisor), policy, command).await;
            let link = std::fs::read_link(folder.path().join(".claude"));
            let told = format!("{}, there {there}: {}", backend.name(), done.output.text());
            assert_eq!(link.ok().as_deref(), Some(std::path::Path::new("real")), "{told}");
            let left = std::fs::read_dir(folder.path().join("real")).map(Iterator::count).ok();
            assert_eq!(left, there.then_some(0), "{told}");
        }
    }
}

/// The loader variables of a command also reached the wrapper that makes the sandbox, which obeyed them.
#[tokio::test]
async fn loader_variables_reach_only_the_command() {
    for (backend, supervisor) in ways().await {
        let folder = TempDirectory::new();
        let sandbox = Sandbox::new(Policy::workspace(folder.path(), None), backend.clone());
        // Each program that tries to load the missing library prints a warning.
        let launch = Launch::shell("echo $LD_PRELOAD", folder.path())
            .with_environment(environment().with("LD_PRELOAD", "/nowhere/evil.so"))
            .with_sandbox(sandbox);
        let done = supervisor.run(launch, &CancellationToken::new()).await.unwrap();
        let text = done.output.text();
        assert_eq!(text.matches("cannot be preloaded").count(), 1, "{}: {text}", backend.name());
        assert!(text.ends_with("\n/nowhere/evil.so\n"), "{}: {text}", backend.name());
    }
}

/// A denied write through a link was explained by the path of the link, which looks writable.
#[tokio::test]
async fn denial_names_the_link_target_and_the_link_can_be_removed() {
    for (backend, supervisor) in ways().await {
        let (folder, outside) = (TempDirectory::new(), TempDirectory::new());
        let target = outside.path().display();
        let policy = Policy::workspace(folder.path(), None);
        let done =
            run(&folder, (&backend, &supervisor), policy, &format!("ln -s {target} link; echo a > link/x"))
                .await;
        let what = format!("writing {target}/x through {}/link/x", folder.path().display());
        let told: Vec<_> =
            done.denials.iter().map(|denial| (denial.what.clone(), denial.rule.clone())).collect();
        assert_eq!(told, [(what, Rule::NotWritable)], "{}", backend.name());
        let policy = Policy::workspace(folder.path(), None);
        let done = run(&folder, (&backend, &supervisor), policy, "rm link && echo gone").await;
        assert_eq!((done.output.text().as_str(), done.denials.len()), ("gone\n", 0), "{:?}", done.denials);
    }
}

/// Paths were compared as they were written: in a workspace that a link names, allowed writes were reported as denied.
#[tokio::test]
async fn writes_to_a_workspace_named_by_a_link_without_a_denial() {
    for (backend, supervisor) in ways().await {
        let (folder, named) = (TempDirectory::new(), TempDirectory::new());
        let link = named.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let done = run(
            &folder,
            (&backend, &supervisor),
            Policy::workspace(&link, None),
            "echo a > x; cat x; echo b > .mcp.json",
        )
        .await;
        assert!(done.output.text().starts_with("a\n"), "{}: {}", backend.name(), done.output.text());
        let rules: Vec<_> = done.denials.iter().map(|denial| denial.rule.clone()).collect();
        assert_eq!(rules, [Rule::Protected(folder.path().join(".mcp.json"))], "{}", backend.name());
    }
}

/// Every lookup of a user name was reported as a denied local socket.
#[tokio::test]
async fn user_name_lookup_is_not_reported_as_a_denial() {
    for (backend, supervisor) in ways().await {
        let folder = TempDirectory::new();
        let policy = Policy::workspace(folder.path(), None);
        let done = run(
            &folder,
            (&backend, &supervisor),
            policy,
            "unset SHELL HOME; bash -c 'ls -l > list; whoami'; ls -ln",
        )
        .await;
        assert_eq!(done.denials, [], "{}: {}", backend.name(), done.output.text());
    }
}

/// A wrapper that ended before it started the command passed for a command with that exit code.
#[tokio::test]
async fn failing_wrapper_is_retried_and_then_reported() {
    let folder = TempDirectory::new();
    let tries = folder.path().join("tries");
    let wrapper = folder.path().join("wrapper");
    let script =
        format!("#!/bin/sh\necho x >> {}; echo 'bwrap: a mount is gone' >&2; exit 1\n", tries.display());
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let launch = Launch::shell("true", folder.path())
        .with_environment(environment())
        .with_sandbox(Sandbox::new(Policy::workspace(folder.path(), None), Backend::Bubblewrap(wrapper)));
    let error = Supervisor::new().run(launch, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "could not create the sandbox: bwrap: a mount is gone");
    assert_eq!(std::fs::read_to_string(tries).unwrap(), "x\n".repeat(8));
}
