use super::Wildcard;

#[test]
fn star_matches_any_characters_anywhere() {
    for (pattern, text, fits) in [
        ("ls", "ls", true),
        ("ls", "ls -l", false),
        ("ls*", "lsof", true),
        ("*", "", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "a b b c", true),
        ("a*b*c", "ac", false),
        ("ab*bc", "abc", false),
        ("* --version", "node --version", true),
        ("**", "x", true),
        ("a*", "ba", false),
    ] {
        assert_eq!(Wildcard::new(pattern).matches(text), fits, "{pattern} on {text}");
    }
}
