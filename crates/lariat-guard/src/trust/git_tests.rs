use super::*;

#[test]
fn plain_clone_has_no_relevant_lines() {
    let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/y\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
    assert_eq!(relevant_lines(text), "");
}

#[test]
fn usual_editor_is_not_relevant() {
    assert_eq!(
        relevant_lines("[core]\n\teditor = vim\n\tpager = \"less\"\n[sequence]\n\teditor = code --wait\n"),
        ""
    );
}

#[test]
fn lines_that_could_start_something_are_relevant_in_every_spelling() {
    for line in [
        "[core]\nfsmonitor = ./x",
        "[CORE]\n  FsMonitor=./x",
        "[core] fsmonitor = ./x",
        "[core]\nbare = false\n[diff \"a]\"]\ntextconv = ./x",
        "[include]\npath = ../x",
        "[core]\nfilemode = true \\\nfsmonitor = ./x",
        "[core]\nfilemode = true # \\\nfsmonitor = ./x",
        "[filter \"a\"]\nclean = ./x",
        "[alias]\nstatus = !./x",
        "[remote \"a\"]\nuploadpack = ./x",
        "[submodule \"a\"]\nupdate = !./x",
        "fsmonitor = ./x",
        "[core]url = ./x",
        "[core]\neditor = ./x",
        "[core]\neditor = vim; ./x",
        "[core]\neditor = \"vim ./x\"",
    ] {
        assert!(relevant_lines(line).contains("./x") || relevant_lines(line).contains("../x"), "{line}");
    }
}

#[test]
fn finds_files_named_relative_to_the_configuration_and_to_the_root() {
    let top = Some(Path::new("/ws"));
    let of = |line: &str| named_files(".git/config", line, top);
    assert!(of("[include] path = ../evil config").contains(&"evil config".to_owned()));
    assert!(of("[include] path = \"../evil\" # why").contains(&"evil".to_owned()));
    assert!(of("[include] path = /ws/deep/evil").contains(&"deep/evil".to_owned()));
    assert!(of("[includeIf \"gitdir:x\"] path=x").contains(&".git/x".to_owned()));
    assert!(of("[core] fsmonitor = ./tools/x --fast").contains(&"tools/x".to_owned()));
    assert!(of("[include] path = /elsewhere/x").iter().all(|path| !path.contains("elsewhere")));
    assert!(of("[include] path = ~/x").is_empty());
    assert!(of("[include] path = ../../x").is_empty());
    assert!(
        includes("[includeIf \"a\"] path = x") && includes("[INCLUDE] path = x") && !includes("[core] x")
    );
}

#[test]
fn finds_submodules_and_their_configuration() {
    let text = "[submodule \"a\"]\n\tpath = libs/a\n\turl = x\n[submodule \"b\"]\n\tpath=\"./b/\"\n[submodule \"c\"]\n\tpath = ../c\n";
    assert_eq!(submodules(text), ["libs/a", "b"]);
    assert_eq!(
        submodule_directory("libs/a", "gitdir: ../../.git/modules/a\n").as_deref(),
        Some(".git/modules/a")
    );
    assert_eq!(submodule_directory("a", "gitdir: ../../x\n"), None);
    assert_eq!(relevant_lines_in_submodule("[core]\n\tworktree = ../../../a\n\tbare = false\n"), "");
    assert!(
        relevant_lines_in_submodule("[core]\n\tworktree = ../a\n\tfsmonitor = x\n").contains("fsmonitor")
    );
}

#[test]
fn follows_a_git_pointer_only_inside_the_workspace() {
    assert_eq!(directory("gitdir: ./evil/git\n"), Some("evil/git"));
    assert_eq!(directory("gitdir: /elsewhere/.git/worktrees/x\n"), None);
    assert_eq!(directory("gitdir: ../main/.git\n"), None);
    assert_eq!(directory("something else"), None);
}
