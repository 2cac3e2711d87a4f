use super::super::analyse;

fn runs(text: &str) -> bool {
    let script = analyse(text);
    script.commands.last().unwrap().runs_its_arguments()
}

#[test]
fn detects_programs_that_run_their_arguments() {
    let cases = [
        "python -c 'x'",
        "python3.12 x.py",
        "node -e x",
        "bash file",
        "bash",
        "source x",
        ". x",
        "awk 'BEGIN{system(\"rm\")}'",
        "sed '1e rm' f",
        "sed 's/a/b/e' f",
        "sed 's/a/b/w x' f",
        "sed -f x f",
        "find . -delete",
        "find . $X",
        "git -c alias.x='!rm' x",
        "git config a b",
        "npx -c rm",
        "ssh host rm",
        "make",
        "tar --to-command=rm -xf a",
        "rg --pre rm x",
        "sort -o f g",
        "docker exec a rm",
    ];
    for text in cases {
        assert!(runs(text), "{text}");
    }
}

#[test]
fn other_programs_do_not_run_their_arguments() {
    let cases = [
        "ls",
        "git status",
        "git log --oneline",
        "sed -n '1,5p' f",
        "sed 's/a/b/g' f",
        "awk '{print $1}' f",
        "find . -name '*.rs'",
        "cargo test",
        "npm test",
        "rg x src",
        "tar -xf a",
        "sort f",
        "docker ps",
        "find . -name \"$x\"",
    ];
    for text in cases {
        let expected = text.ends_with("\"$x\"");
        assert_eq!(runs(text), expected, "{text}");
    }
}

#[test]
fn commit_message_is_one_word_whatever_it_expands_to() {
    for (text, runs) in [
        ("git commit -m \"$(cat <<'EOF'\nFix it\nEOF\n)\"", false),
        ("git commit -am \"$MESSAGE\"", false),
        ("git tag -a v1 -m \"Version $(cat VERSION)\"", false),
        ("git commit -m $(echo --exec=x)", true),
        ("git commit \"$(echo --exec=x)\"", true),
        ("git commit -m \"a\"$X\"b\"", true),
        ("git branch -m \"$(echo x)\"", true),
        ("git log -m \"$(echo --output=x)\"", true),
    ] {
        let script = crate::shell::analyse(text);
        let found = script.commands.iter().find(|command| command.program() == Some("git")).unwrap();
        assert_eq!(found.runs_its_arguments(), runs, "{text}: {:?}", found.words);
    }
}
