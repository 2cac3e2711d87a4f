use super::*;

/// The parts as text, one per line.
fn parts(source: &str) -> String {
    let mut blocks = Blocks::default();
    let mut parts: Vec<BlockPart> = source.lines().flat_map(|line| blocks.line(line)).collect();
    parts.extend(blocks.finish());
    let show = |part: &BlockPart| match part {
        BlockPart::Block { source, number, gap } => {
            let number = number.map(|number| format!("{number} ")).unwrap_or_default();
            format!("{}{number}{source:?}\n", if *gap { "| " } else { "  " })
        }
        BlockPart::CodeStart { language } => format!("code {language:?}\n"),
        BlockPart::CodeLine(line) => format!("  > {line}\n"),
        BlockPart::CodeEnd => "end\n".to_owned(),
    };
    parts.iter().map(show).collect()
}

#[test]
fn paragraph_ends_at_empty_line_or_next_block() {
    insta::assert_snapshot!(parts("a\nb\n\nc\n# d\ne\n---\n> f\n> g\nh\n***\n| x |\n|---|\n| y |"), @r##"
    | "a\nb\n"
    | "c\n"
    | "# d\n"
    | "e\n---\n"
    | "> f\n> g\nh\n"
    | "***\n"
    | "| x |\n|---|\n| y |\n"
    "##);
}

#[test]
fn list_item_keeps_its_nested_content() {
    insta::assert_snapshot!(parts("Text:\n- a\n  more\n\n  para\n- b\n  - c\n    ```rs\n    x\n\n    - y\n    ```\nlazy\n\nend"), @r#"
    | "Text:\n"
      "- a\n  more\n\n  para\n"
      "- b\n  - c\n    ```rs\n    x\n\n    - y\n    ```\nlazy\n\n"
    | "end\n"
    "#);
    insta::assert_snapshot!(parts("1. a\n1. b\n\n1. c\n\nx\n7) d\n2026. no\n2 no"), @r#"
      1 "1. a\n"
      2 "1. b\n\n"
    | 3 "1. c\n\n"
    | "x\n7) d\n2026. no\n2 no\n"
    "#);
}

#[test]
fn fenced_code_is_emitted_by_line() {
    insta::assert_snapshot!(parts("```rust,ignore\nfn a() {}\n\n~~~\n``` no\n```\n~~~~\nb\n~~~\n~~~~\n  ```\n  c\n    d\n  ```\n```\nopen"), @r#"
    code "rust"
      > fn a() {}
      > 
      > ~~~
      > ``` no
    end
    code ""
      > b
      > ~~~
    end
    code ""
      > c
      >   d
    end
    code ""
      > open
    end
    "#);
}

#[test]
fn splits_block_that_exceeds_the_limit() {
    let long = "word ".repeat(LIMIT / 20);
    let blocks = parts(&format!("{long}\n{long}\n{long}\n{long}\n{long}\n{long}\n"));
    assert!(blocks.lines().count() > 1);
}
