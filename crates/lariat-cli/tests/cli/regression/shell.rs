//! Regression tests for shell commands that a rule or mode must not run without asking.

use lariat_proofs::server::{Request, Script, Turn};
use serde_json::json;

use crate::fixture::{Fixture, last_result, text};

/// The prompt contains the command for the model between these marks.
const MARK: &str = "RUN:";
const END: &str = ":END";

fn called(request: &Request) -> String {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let mut prompts =
        messages.iter().map(|message| text(&message["content"])).filter(|text| text.contains(MARK));
    let last = prompts.next_back().unwrap_or_default();
    let command = last.split_once(MARK).and_then(|(_, rest)| rest.split_once(END));
    command.map(|(command, _)| command.to_owned()).unwrap_or_default()
}

/// A model that runs the command in the prompt, and repeats the result.
async fn fixture() -> Fixture {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", "bash", &json!({ "command": called(request) })).into(),
        Some((_, said, _)) => Turn::new().text(format!("It says: {said}")).into(),
    }))
    .await;
    std::fs::create_dir_all(fixture.path("outside")).unwrap();
    std::fs::write(fixture.path("outside/secret.txt"), "CANARY-OUTSIDE\n").unwrap();
    fixture.write("key", "nothing\n");
    fixture
}

/// The answer after a command, which repeats its result.
fn bash(fixture: &Fixture, flags: &[&str], command: &str) -> String {
    let prompt = format!("{MARK}{command}{END}");
    let mut words = vec!["run"];
    if !flags.contains(&"--mode") {
        words.extend(["--mode", "default"]);
    }
    words.extend(flags);
    words.push(&prompt);
    fixture.run(&words).stdout
}

fn git(fixture: &Fixture) {
    for arguments in [&["init", "-q"][..], &["add", "key"]] {
        let mut command = std::process::Command::new("git");
        let done =
            command.args(arguments).current_dir(fixture.workspace()).env("HOME", fixture.path("")).output();
        assert!(done.unwrap().status.success());
    }
}

/// Bash joins lines in a here-document before it compares them with the delimiter.
#[tokio::test(flavor = "multi_thread")]
async fn heredoc_delimiter_split_by_continuation_asks() {
    let fixture = fixture().await;
    let plain = bash(&fixture, &[], "cat <<EOF\nhello\nEOF");
    assert!(plain.contains("hello"), "a plain here-document runs: {plain}");
    let split = "cat <<EOF\nEO\\\nF\ntouch PWN\nEOF";
    bash(&fixture, &[], split);
    bash(&fixture, &["--mode", "bypass", "--deny", "Bash(touch *)"], split);
    bash(&fixture, &[], "cat <<-EOF\n\tEO\\\nF\ntouch PWN\n\tEOF");
    assert!(!fixture.workspace().join("PWN").exists());
}

/// Bash reprints a substitution before it runs it, and `<< -x` becomes `<<-x`.
#[tokio::test(flavor = "multi_thread")]
async fn heredoc_inside_a_substitution_asks() {
    let fixture = fixture().await;
    for command in [
        "echo $(cat << -x\nx\ntouch PWN\n-x\n)",
        "echo \"$(cat << -x\nx\ntouch PWN\n-x\n)\"",
        "cat <(cat << -x\nx\ntouch PWN\n-x\n)",
        "echo `cat << -x\nx\ntouch PWN\n-x\n`",
    ] {
        bash(&fixture, &[], command);
        assert!(!fixture.workspace().join("PWN").exists(), "{command:?}");
    }
}

/// A word is checked as the command opens it, not only by the part that looks like a path.
#[tokio::test(flavor = "multi_thread")]
async fn words_that_look_like_options_or_values_do_not_read_outside() {
    use std::os::unix::fs::symlink;

    let fixture = fixture().await;
    let (work, outside) = (fixture.workspace(), fixture.path("outside"));
    for name in ["@out", "o", "x=o", "d1"] {
        symlink(&outside, work.join(name)).unwrap();
    }
    std::fs::create_dir(work.join("d2")).unwrap();
    symlink(outside.join("secret.txt"), work.join("d2/secret.txt")).unwrap();
    std::fs::create_dir(work.join("d3")).unwrap();
    symlink(outside.join("secret.txt"), work.join("-l")).unwrap();
    symlink(outside.join("secret.txt"), work.join("list")).unwrap();
    std::fs::write(work.join("in"), "inside\n").unwrap();
    for command in [
        "cat @out/secret.txt",
        "cd @out && cat secret.txt",
        "cat -- -l",
        "cat x=o/secret.txt",
        "strings @list",
        "diff -N d2 d3",
        "diff d3/../d2 in",
        "cat */secret.txt",
        "cat {o,in}/secret.txt",
        "grep -r CANARY d1",
    ] {
        let said = bash(&fixture, &[], command);
        assert!(!said.contains("CANARY"), "{command}: {said}");
    }
    let said = bash(&fixture, &[], "cat -- in");
    assert!(said.contains("inside"), "{said}");
}

/// A rule that denies reading a file covers commands that read its directory, and loops in any spelling.
#[tokio::test(flavor = "multi_thread")]
async fn denied_files_are_not_read_through_folders_patterns_or_loops() {
    let fixture = fixture().await;
    fixture.write(".env", "KEY=CANARY-ENV\n");
    let work = fixture.workspace();
    for folder in ["secrets", "sub"] {
        std::fs::create_dir(work.join(folder)).unwrap();
    }
    std::fs::write(work.join("secrets/key"), "CANARY-KEY\n").unwrap();
    std::fs::write(work.join("sub/a"), "KEY=harmless\n").unwrap();
    let deny = ["--deny", "Read(./.env)", "--deny", "Read(./secrets/**)"];
    for command in [
        "grep -rh KEY=",
        "grep -rh KEY= .",
        "grep -h KEY -d recurse .",
        "rg --hidden KEY",
        "rg KEY secrets",
        "diff -N . sub",
        "cat .e*",
        "cat s*/key",
        "cat {.env,key}",
        "for\ti in 1 2; do cat key; cd secrets; done",
        "while\ttrue; do cat key; cd secrets; done",
        "until\\\n false; do cat key; cd secrets; done",
        "env -C secrets bash -c 'cat < key'",
    ] {
        let said = bash(&fixture, &deny, command);
        assert!(!said.contains("CANARY"), "{command:?}: {said}");
    }
    for command in
        ["tar cf - . | strings", "cp -r . ../copy && cat ../copy/.env", "cat .e*", "zip -r - . | strings"]
    {
        let said = bash(&fixture, &[&deny[..], &["--mode", "bypass"]].concat(), command);
        assert!(!said.contains("CANARY"), "{command:?} in bypass: {said}");
    }
    for (command, expected) in
        [("grep -rh KEY= sub", "harmless"), ("cat k*", "nothing"), ("cat sub/*", "harmless")]
    {
        let said = bash(&fixture, &deny, command);
        assert!(said.contains(expected), "{command}: {said}");
    }
}

/// A rule that allows a program does not cover options that run others, in any spelling.
#[tokio::test(flavor = "multi_thread")]
async fn options_that_run_programs_ask_in_every_spelling() {
    for (rule, command) in [
        ("git ls-remote *", "git ls-remote --upload-pac='touch PWN;' ."),
        ("git clone *", "git clone -u 'touch PWN;' . new"),
        ("git clone *", "git clone -qu'touch PWN;' . new"),
        ("git grep *", "git grep -nO'touch PWN;' nothing"),
        ("tar *", "tar cf /dev/null . --checkpoint=1 --checkpoint-act='exec=touch PWN'"),
        ("tar *", "tar cIf 'touch PWN' /dev/null ."),
        ("sed *", "sed '1e touch PWN' key"),
        ("sed -n *", "sed -n '1e touch PWN' key"),
        ("sed *", "sed -n 's/n/x/w PWN' key"),
        ("sed *", "sed --expr='1e touch PWN' key"),
        ("split *", "split --filt='touch PWN' key"),
        ("sort *", "sort -ro PWN key"),
        ("sort *", "sort --outp=PWN key"),
    ] {
        let fixture = fixture().await;
        git(&fixture);
        bash(&fixture, &["--allow", &format!("Bash({rule})")], command);
        assert!(!fixture.workspace().join("PWN").exists(), "{rule}: {command}");
    }
    let fixture = fixture().await;
    for (rule, command) in [("sed *", "sed 's/nothing/anything/' key"), ("tar *", "tar cvf /dev/null key")] {
        let said = bash(&fixture, &["--allow", &format!("Bash({rule})")], command);
        assert!(said.contains("anything") || said.contains("key"), "{command}: {said}");
    }
}

/// Destructive commands require approval behind unknown wrappers and in braces.
#[tokio::test(flavor = "multi_thread")]
async fn destructive_commands_ask_behind_wrappers_and_in_braces() {
    let fixture = fixture().await;
    for command in [
        "rm -rf {/etc,/usr}",
        "rm -rf /{etc,usr}",
        "rm -rf {x,~}",
        "rsync -a --delete empty/ ~/",
        "rsync -a --del empty/ .",
        "setarch x86_64 rm -rf /etc",
        "linux64 rm -rf /etc",
        "prlimit --nproc=5 rm -rf /etc",
        "choom -n 5 -- rm -rf /etc",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf /etc",
        "ssh-agent rm -rf /etc",
        "sg users -c 'rm -rf /etc'",
        "some-new-wrapper --flag rm -rf /etc",
    ] {
        let ran = fixture.run(&["permissions", "test", "--mode", "bypass", &format!("Bash({command})")]);
        assert!(ran.stdout.contains("ask") && !ran.stdout.starts_with("allow"), "{command}: {ran:#?}");
    }
}
