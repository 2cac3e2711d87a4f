use super::*;

const GREP: AllowedOptions = AllowedOptions {
    short: &["rnA:f@C?#"],
    long: &["recursive regexp= file@ color?", "arg== slurpfile=@"],
    is_harmless_with_any_option: false,
};

fn read(text: &str) -> Option<(Vec<String>, Vec<String>)> {
    let words: Vec<Word> = text.split(' ').filter(|word| !word.is_empty()).map(known_word).collect();
    let texts = |words: Vec<Word>| words.into_iter().map(|word| word.text).collect();
    GREP.read(&words).map(|found| (texts(found.operands), texts(found.paths)))
}

#[test]
fn separates_options_values_and_operands() {
    for (text, operands, paths) in [
        ("a b", "a b", ""),
        ("-rn a", "a", ""),
        ("-rA 3 a", "a", ""),
        ("-A3 a -5", "a", ""),
        ("-rfx a", "a", "x"),
        ("-f x a", "a", "x"),
        ("--file=x --file y a", "a", "x y"),
        ("-- -r --file=x", "-r --file=x", ""),
        ("-C a", "a", ""),
        ("-Cx a", "a", ""),
        ("--color a", "a", ""),
        ("--arg a b c", "c", ""),
        ("--slurpfile a b c", "c", "b"),
        ("- a", "- a", ""),
    ] {
        let (found, named) = read(text).unwrap();
        assert_eq!((found.join(" ").as_str(), named.join(" ").as_str()), (operands, paths), "{text}");
    }
}

#[test]
fn unlisted_option_gives_none() {
    for text in
        ["-x a", "-rx", "--recursiv", "--recursive=1", "--fil=x", "-A", "--regexp", "--unknown", "-r:", "-r#"]
    {
        assert!(read(text).is_none(), "{text}");
    }
    let unknown = |text: &str| [Word { text: text.to_owned(), is_known: false }];
    for text in ["$x", "-r$x", "\"-r$x\"", "*", "?a", "{a,b}"] {
        assert!(GREP.read(&unknown(text)).is_none(), "{text}");
    }
    for text in ["a*", "src/*", "\"a$x\""] {
        assert!(GREP.read(&unknown(text)).is_some(), "{text}");
    }
}
