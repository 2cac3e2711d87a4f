use super::*;

#[test]
fn section_that_fits_is_complete() {
    let section = Section::new("a", SectionStability::Static, "one\ntwo\n\n");
    assert_eq!(section.bounded(), "one\ntwo");
}

#[test]
fn long_section_is_truncated_at_a_line_and_says_where_the_rest_is() {
    let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let section = Section::new("memory", SectionStability::SemiStatic, text.clone()).with_max_tokens(5);
    let section = section.with_whole("`read_file` CLAUDE.md");
    let shown = section.bounded();
    assert_eq!(
        shown,
        format!(
            "line 0\nline 1\n[{} of {} bytes of section `memory` left out here. Full text: `read_file` CLAUDE.md.]",
            text.len() - 14,
            text.len()
        )
    );
}

#[test]
fn truncation_never_splits_a_character() {
    for most in 0..20 {
        let section = Section::new("a", SectionStability::Static, "日本語".repeat(9)).with_max_tokens(most);
        assert!(section.bounded().contains("left out here"));
    }
}
