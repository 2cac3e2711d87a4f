use super::*;

fn sed(words: &[&str]) -> SedUse {
    classify(&words.iter().map(|word| Word::known(*word)).collect::<Vec<_>>())
}

#[test]
fn printing_deleting_and_replacing_is_plain() {
    for script in [
        "1,40p",
        "$p",
        "10,$p",
        "s/foo/bar/g",
        "s|a/b|c\\|d|",
        "/^#/d",
        "/a/,/b/p",
        "1~2d",
        "/x/I!s/[a-z]*/y/2;p",
        "y/abc/xyz/",
        "/x/{p;q}",
        "$!N; P; D",
        ":a;N;$!ba;s/\\n/ /g",
        "1i text; 1e rm",
        "a hello",
        "s/a/b/ # e",
        "2q",
        "/a/=",
    ] {
        assert_eq!(sed(&[script]), SedUse::Plain, "{script}");
    }
    assert_eq!(sed(&["-n", "-e", "1p", "-e2p", "f"]), SedUse::Plain);
    assert_eq!(sed(&["-Ei.bak", "s/a/b/", "f"]), SedUse::Plain);
    assert_eq!(sed(&["-l", "5", "--expression=p", "--", "-f"]), SedUse::Plain);
    assert_eq!(sed(&["-n"]), SedUse::Nothing);
}

#[test]
fn other_scripts_and_options_are_unknown() {
    for script in [
        "1e rm",
        "e",
        "s/a/b/e",
        "s/a/b/ge",
        "s/a/b/w f",
        "w f",
        "1,5w f",
        "r f",
        "R f",
        "W f",
        "/x/e rm",
        "$!{e rm\n}",
        "p;e rm",
        "p\ne rm",
        "s/[/]/;e rm/",
        "a\\\ntext",
        "s\na\nb\n",
        "y/a/b/;w f",
        "1 , 2 e rm",
        "\\,x,e rm",
        "0~4e rm",
        "/a/,+3e rm",
        "}e rm",
        ":a e\ne rm",
        "v",
    ] {
        assert_eq!(sed(&[script]), SedUse::Unknown, "{script}");
    }
    for words in [
        &["-f", "x"][..],
        &["-nf", "x"],
        &["--file=x"],
        &["--fil=x"],
        &["-e", "p", "-e", "1e rm"],
        &["-ne", "1e rm"],
        &["-n1e rm"],
        &["--expression=1e rm"],
        &["--expr=1e rm"],
        &["-i/tmp/*", "p"],
        &["p", "-f", "x"],
        &["p", "-e", "1e rm"],
    ] {
        assert_eq!(sed(words), SedUse::Unknown, "{words:?}");
    }
}
