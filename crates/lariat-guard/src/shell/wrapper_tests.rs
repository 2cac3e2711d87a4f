use super::super::{Script, analyse};
use super::{WrappedProgram, wrapped_program};
use crate::shell::Word;

fn commands_of(text: &str) -> Vec<String> {
    let Script { commands, .. } = analyse(text);
    commands
        .iter()
        .map(|command| command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn finds_the_program_of_a_wrapper() {
    let cases = [
        ("timeout 5 rm x", "rm x"),
        ("timeout -s KILL --foreground 5s rm x", "rm x"),
        ("timeout -k5 5 nice -n 3 rm x", "rm x"),
        ("nice -10 rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("nohup rm x", "rm x"),
        ("stdbuf -oL rm x", "rm x"),
        ("command -p rm x", "rm x"),
        ("builtin cd x", "cd x"),
        ("exec rm x", "rm x"),
        ("env -i -u A B=1 rm x", "rm x"),
        ("env - rm x", "rm x"),
        ("/usr/bin/env rm x", "rm x"),
        ("xargs -0 -n 1 rm x", "rm x "),
        ("xargs -I{} rm {}", "rm {}"),
        ("sudo -u root rm x", "rm x"),
        ("setsid rm x", "rm x"),
        ("ionice -c3 rm x", "rm x"),
        ("flock -n f rm x", "rm x"),
        ("strace -f -e trace=open rm x", "rm x"),
        ("bash -c 'rm x'", "rm x"),
        ("bash -lc 'rm x'", "rm x"),
        ("sh -euo pipefail -c 'rm x' a b", "rm x"),
        ("bash -c -- 'rm x'", "rm x"),
        ("env bash -c \"sh -c 'rm x'\"", "rm x"),
        ("find . -exec rm x ';'", "rm x"),
    ];
    for (text, expected) in cases {
        assert!(
            commands_of(text).iter().any(|command| command == expected),
            "{text}: {:?}",
            commands_of(text)
        );
        assert_eq!(analyse(text).doubts, [], "{text}");
    }
}

#[test]
fn doubts_wrappers_that_hide_what_they_run() {
    let cases = [
        "timeout $X rm x",
        "nice -n $X rm x",
        "flock lock -n lock rm x",
        "timeout 5 -k 1 rm x",
        "dash -c 'cp a 10>b'",
        "xargs --replace curl {}",
        "timeout --unheard-of 5 rm x",
        "env -S 'rm x'",
        "env \"$X\" ls",
        "bash -c \"$X\"",
        "sh -c '((rm x))'",
        "dash -c 'ls &> f'",
        "bash $X",
        "xargs $X",
        "sudo -s ls",
        "exec -a ls rm x",
        "dash -c 'exec -- ls x'",
        "sudo -i",
        "xargs -I{} {}",
        "env 'BASH_FUNC_ls%%=() { rm; }' bash -c ls",
        "bash --rcfile x -c ls",
        "zsh -c 'rm x'",
        "watch rm x",
        "time -o f ls",
        "bash -c - 'rm x'",
        "bash - -c 'rm x'",
        "sh -c + 'rm x'",
        "env - - ls",
        "env -",
        "ls >&o\\\\\nut",
        "ls >&'o'",
        "ls >&$'o'",
        "ls >& -n x",
        "ls >&-n x",
        r"ls ${X^\\$(( i=EVIL ))}",
    ];
    for text in cases {
        assert!(!analyse(text).doubts.is_empty(), "{text}");
    }
}

#[test]
fn commands_that_run_nothing_are_unchanged() {
    for text in ["command -v git", "timeout --version", "env", "nohup", "bash file.sh", "bash --version"] {
        assert_eq!(commands_of(text), [text]);
        assert_eq!(analyse(text).doubts, [], "{text}");
    }
}

#[test]
fn option_after_a_variable_may_be_a_program() {
    for text in ["env A=1 -u B cat", "env -u A B=1 -u C cat", "sudo A=1 -u root cat", "env A=1 -- cat"] {
        let words: Vec<Word> = text.split(' ').map(Word::known).collect();
        assert_eq!(wrapped_program(&words), WrappedProgram::Hidden, "{text}");
    }
}
