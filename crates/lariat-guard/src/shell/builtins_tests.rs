use super::super::analyse;

#[test]
fn doubts_builtins_that_change_later_commands() {
    let cases = [
        "export PATH=/tmp:$PATH",
        "typeset PATH=/tmp",
        "declare -x LD_PRELOAD=/tmp/x.so",
        "readonly BASH_ENV=x",
        "read PATH < f",
        "read -r a IFS",
        "read -aPATH",
        "SECONDS='a[$(x)]'",
        "mapfile -C rm -c 1 a < f",
        "printf -v PATH x",
        "printf -vPATH x",
        "unset PATH",
        "unset 'a[$(x)]'",
        "set -o posix",
        "set -k",
        "shopt -s expand_aliases",
        "alias ls=rm",
        "enable -f ./x.so y",
        "hash -p /tmp/x ls",
        "trap 'rm x' EXIT",
        "eval ls",
        "export -f x",
        "declare -n a=PATH",
        "declare -i a='b[$(x)]'",
        "export $x",
        "PATH=.",
        "IFS=x ls",
        "GIT_SSH_COMMAND=x git fetch",
        "command export PATH=x",
        "builtin export PATH=x",
        "\\export PATH=x",
        "test -v 'a[$(x)]'",
        "[ -v 'a[$(x)]' ]",
        "[ $x ]",
        "let 'a[$(x)]=1'",
        "for PATH in a; do ls; done",
    ];
    for text in cases {
        assert!(!analyse(text).doubts.is_empty(), "{text}");
    }
}

#[test]
fn harmless_builtins_have_no_doubt() {
    let cases = [
        "export FOO=bar",
        "export FOO=$(date)",
        "set -euo pipefail",
        "read -r line",
        "read -rp 'name? ' name",
        "FOO=1 make",
        "RUST_LOG=debug cargo test",
        "GIT_PAGER=cat git log",
        "printf '%s\\n' \"$x\"",
        "test -f x && ls",
        "[ -f x ] && ls",
        "[ \"$x\" = y ] && ls",
        "unset FOO",
        "local x=1",
        "trap - EXIT",
        "cd sub && ls",
    ];
    for text in cases {
        assert_eq!(analyse(text).doubts, [], "{text}");
    }
}
