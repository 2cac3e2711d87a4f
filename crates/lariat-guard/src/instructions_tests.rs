use super::*;

#[test]
fn removes_comments_that_start_a_line() {
    let text = "a\n<!-- one -->\nb\n<!-- two\nlines\n-->\nc <!-- stays -->\n```\n<!-- code -->\n```\n";
    assert_eq!(shown(text), "a\nb\nc <!-- stays -->\n```\n<!-- code -->\n```\n");
    assert_eq!(shown("<!-- never closed\ntext"), "");
}

#[test]
fn imports_are_at_words_outside_code() {
    let text = "See @docs/a.md, and @b.md.\nMail me@x.org or @ada. `@code.md`\n```\n@fenced.md\n```\n(@no) @docs/a.md\n@~/own.md";
    assert_eq!(imports(text), ["docs/a.md", "b.md", "~/own.md"]);
}

#[test]
fn import_cannot_leave_the_project() {
    assert_eq!(import_target("CLAUDE.md", "docs/a.md").as_deref(), Some("docs/a.md"));
    assert_eq!(import_target("docs/x/a.md", "../b.md").as_deref(), Some("docs/b.md"));
    for out in ["../b.md", "/etc/passwd", "~/.aws/credentials", "docs/../../b.md", "~", "."] {
        assert_eq!(import_target("CLAUDE.md", out), None, "{out}");
    }
}
