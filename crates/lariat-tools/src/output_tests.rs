use super::*;

#[test]
fn short_text_is_not_cut() {
    assert_eq!(cut("abc", 3, ""), "abc");
}

#[test]
fn long_text_keeps_both_ends_and_notes_the_cut() {
    let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
    let short = cut(&text, 100, "Request less.");
    assert!(short.starts_with("line 0\nline 1\n"), "{short}");
    assert!(short.ends_with("line 98\nline 99\n"), "{short}");
    assert!(short.contains("Request less.]"), "{short}");
    let kept: usize = short.lines().filter(|line| line.starts_with("line ")).count();
    assert!(short.contains(&format!("{} lines cut", 100 - kept)), "{short}");
}

#[test]
fn never_cuts_inside_a_character() {
    let text = "ü".repeat(1000);
    for limit in 0..64 {
        let short = cut(&text, limit, "");
        assert!(short.chars().all(|char| char == 'ü' || char.is_ascii() || char == '…'), "{short}");
    }
}
