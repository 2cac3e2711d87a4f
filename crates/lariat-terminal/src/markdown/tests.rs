use lariat_proofs::terminal::{assert_harmless, hostile, without_sequences};
use lariat_test::SeededRandom;

use super::*;

/// Number of random texts; a failure names its seed.
const SEEDS: u64 = 1_500;

const REPLY: &str = "\
# The *parser*

It failed on **trailing commas**: see `parse_list` in [the file](https://example.com/a.rs), line 12, and <https://a.b/c>.
A line that is soft.  
A line that is hard.

1. First
1. Second, which is long enough to go on the next line of a narrow terminal
   - nested
   - [x] done
   - [ ] open

     ```rust
     fn a() {}
     ```

- loose

- items

> Quoted **text** that goes on and on and on, until it does not fit on one line any more
> > twice

| name | count | what it is |
|------|------:|:----------:|
| a | 1 | short |
| `bb` | 1000 | a long cell that has to be wrapped because it does not fit |

---

```rust
// Adds one.
fn add(a: u32) -> u32 {
\ta + 1          // one
}
```

```
plain  text
```

<details>
hidden
</details>

[ref]: https://example.com
";

#[test]
fn renders_reply_without_color() {
    insta::assert_snapshot!(Markdown::whole(REPLY, Theme::plain(60)), @r#"
    # The parser

    It failed on trailing commas: see `parse_list` in the file
    (https://example.com/a.rs), line 12, and https://a.b/c. A
    line that is soft.
    A line that is hard.

    1. First
    2. Second, which is long enough to go on the next line of a
       narrow terminal
       ◦ nested

       ◦ ☑ done

       ◦ ☐ open

           fn a() {}

    • loose

    • items

    │ Quoted text that goes on and on and on, until it does not
    │ fit on one line any more
    │
    │ │ twice

    name │ count │                  what it is
    ─────┼───────┼──────────────────────────────────────────────
    a    │     1 │                     short
    `bb` │  1000 │ a long cell that has to be wrapped because it
         │       │                 does not fit

    ────────────────────────────────────────

      // Adds one.
      fn add(a: u32) -> u32 {
          a + 1          // one
      }

      plain  text

    <details>
    hidden
    </details>

    [ref]: https://example.com
    "#);
}

#[test]
fn renders_reply_on_narrow_ascii_terminal() {
    insta::assert_snapshot!(Markdown::whole(REPLY, Theme { unicode: false, ..Theme::plain(28) }), @r#"
    # The parser

    It failed on trailing
    commas: see `parse_list` in
    the file
    (https://example.com/a.rs),
    line 12, and https://a.b/c.
    A line that is soft.
    A line that is hard.

    1. First
    2. Second, which is long
       enough to go on the next
       line of a narrow terminal
       - nested

       - [x] done

       - [ ] open

           fn a() {}

    - loose

    - items

    > Quoted text that goes on
    > and on and on, until it
    > does not fit on one line
    > any more
    >
    > > twice

    name | count |  what it is
    -----+-------+--------------
    a    |     1 |     short
    `bb` |  1000 |  a long cell
         |       |  that has to
         |       |  be wrapped
         |       |  because it
         |       | does not fit

    ----------------------------

      // Adds one.
      fn add(a: u32) -> u32 {
          a + 1          // one
      }

      plain  text

    <details>
    hidden
    </details>

    [ref]: https://example.com
    "#);
}

#[test]
fn renders_reply_in_color() {
    insta::assert_snapshot!(Markdown::whole(REPLY, Theme::full(70)).replace('\u{1b}', "␛"), @r#"
    ␛[1;36mThe parser␛[0m

    It failed on ␛[1mtrailing commas␛[0m: see ␛[36mparse_list␛[0m in ␛]8;;https://example.com/a.rs␛\␛[4;34mthe file␛[0m␛]8;;␛\, line 12, and
    ␛]8;;https://a.b/c␛\␛[4;34mhttps://a.b/c␛[0m␛]8;;␛\. A line that is soft.
    A line that is hard.

    1. First
    2. Second, which is long enough to go on the next line of a narrow
       terminal
       ◦ nested

       ◦ ☑ done

       ◦ ☐ open

           ␛[35mfn␛[0m ␛[34ma␛[0m() {}

    • loose

    • items

    ␛[2m│␛[0m Quoted ␛[1mtext␛[0m that goes on and on and on, until it does not fit on one
    ␛[2m│␛[0m line any more
    ␛[2m│␛[0m
    ␛[2m│␛[0m ␛[2m│␛[0m twice

    ␛[1mname␛[0m␛[2m │ ␛[0m␛[1mcount␛[0m␛[2m │ ␛[0m                      ␛[1mwhat it is␛[0m
    ␛[2m─────┼───────┼────────────────────────────────────────────────────────␛[0m
    a   ␛[2m │ ␛[0m    1␛[2m │ ␛[0m                         short
    ␛[36mbb␛[0m  ␛[2m │ ␛[0m 1000␛[2m │ ␛[0ma long cell that has to be wrapped because it does not
        ␛[2m │ ␛[0m     ␛[2m │ ␛[0m                          fit

    ␛[2m────────────────────────────────────────␛[0m

      ␛[2m// Adds one.␛[0m
      ␛[35mfn␛[0m ␛[34madd␛[0m(a: ␛[36mu32␛[0m) -> ␛[36mu32␛[0m {
          a + ␛[33m1␛[0m          ␛[2m// one␛[0m
      }

      plain  text

    ␛[2m<details>␛[0m
    ␛[2mhidden␛[0m
    ␛[2m</details>␛[0m

    [ref]: https://example.com
    "#);
}

#[test]
fn piped_text_is_unchanged_but_neutralised() {
    assert_eq!(Markdown::whole(REPLY, Theme::piped()), REPLY);
    assert_eq!(
        Markdown::whole("a\u{1b}[2Jb\tc          d\r\ne", Theme::piped()),
        "a⟨U+001B⟩[2Jb\tc          d\ne"
    );
}

#[test]
fn prints_complete_blocks_at_once() {
    let mut markdown = Markdown::new(Theme::plain(60));
    assert_eq!(markdown.push("# Ti"), "");
    assert_eq!(markdown.push("tle\nSome te"), "# Title\n");
    assert_eq!(markdown.push("xt\nmore\n"), "");
    assert_eq!(markdown.push("\n"), "\nSome text more\n");
    assert_eq!(markdown.push("```\nlet a"), "\n");
    assert_eq!(markdown.push(" = 1;\n"), "  let a = 1;\n");
    assert_eq!(markdown.push("```\n- a\n"), "");
    assert_eq!(markdown.push("- b\n"), "• a\n");
    assert_eq!(markdown.finish(), "• b\n");
    assert_eq!(markdown.finish(), "");
}

#[test]
fn prints_long_code_in_pieces() {
    let mut markdown = Markdown::new(Theme::full(60));
    let mut shown = markdown.push("```rust\n");
    for _ in 0..200 {
        shown.push_str(&markdown.push("let a = 1;\n"));
    }
    assert_eq!(shown.lines().count(), 200);
    shown.push_str(&markdown.push("let b = 2;\n"));
    assert_eq!(shown.lines().count(), 200);
    shown.push_str(&markdown.push("```\n"));
    assert_eq!(without_sequences(&shown).lines().last(), Some("  let b = 2;"));
}

#[test]
fn link_with_misleading_text_shows_its_target() {
    let shown = without_sequences(&Markdown::whole("[https://good.com](https://bad.com)", Theme::full(80)));
    assert_eq!(shown, "https://good.com (https://bad.com)\n");
    assert_eq!(without_sequences(&Markdown::whole("[good](https://bad.com)", Theme::full(80))), "good\n");
}

#[test]
fn output_does_not_depend_on_chunking() {
    for seed in 0..SEEDS {
        let mut dice = SeededRandom::new(seed);
        let source = hostile(&mut dice);
        let theme = [Theme::plain(30), Theme::full(50), Theme::piped()][dice.below(3) as usize];
        let whole = Markdown::whole(&source, theme);
        let mut markdown = Markdown::new(theme);
        let mut shown = String::new();
        let mut rest = source.as_str();
        while !rest.is_empty() {
            let at = rest.ceil_char_boundary(1 + dice.below(9) as usize);
            let (piece, after) = rest.split_at(at.min(rest.len()));
            shown.push_str(&markdown.push(piece));
            rest = after;
        }
        shown.push_str(&markdown.finish());
        assert_eq!(shown, whole, "seed {seed}: {source:?}");
    }
}

#[test]
fn output_has_no_control_characters() {
    for seed in 0..SEEDS {
        let mut dice = SeededRandom::new(seed ^ 0xBAD);
        let source = hostile(&mut dice);
        for theme in [Theme::plain(1 + dice.below(60) as usize), Theme::full(40)] {
            assert_harmless(&Markdown::whole(&source, theme), &format!("seed {seed}: {source:?}"));
        }
        let piped = Markdown::whole(&source, Theme::piped()).replace('\t', " ");
        assert_harmless(&piped, &format!("seed {seed}: {source:?}"));
    }
}

#[test]
fn only_code_lines_exceed_the_width() {
    let prose = REPLY.split("```").step_by(2).collect::<Vec<_>>().concat();
    for width in 12..100 {
        for line in Markdown::whole(&prose, Theme::plain(width)).lines() {
            assert!(text::width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn keeps_all_text() {
    for (source, expected) in [
        ("[x]: https://a.b", "[x]: https://a.b\n"),
        ("<!-- note -->", "<!-- note -->\n"),
        ("a &amp; b &lt;", "a & b <\n"),
        ("-\n- a", "•\n• a\n"),
        ("", ""),
        ("\n\n", ""),
    ] {
        assert_eq!(Markdown::whole(source, Theme::plain(60)), expected, "{source:?}");
    }
}

#[test]
fn splits_overlong_line_at_a_fixed_position() {
    let source = format!("{}\nnext", "é".repeat(LINE / 2 + 5_000));
    for theme in [Theme::plain(80), Theme::piped()] {
        let mut markdown = Markdown::new(theme);
        let mut shown: String =
            source.split_inclusive(|_| true).map(|letter| markdown.push(letter)).collect();
        shown.push_str(&markdown.finish());
        assert!(shown == Markdown::whole(&source, theme));
    }
    assert!(Markdown::whole(&source, Theme::piped()) == source);
}

#[test]
fn limits_output_for_deep_nesting_and_long_lines() {
    for source in [
        "> ".repeat(20_000),
        "- ".repeat(20_000),
        "*".repeat(50_000),
        "x".repeat(300_000),
        "[".repeat(50_000),
    ] {
        assert!(Markdown::whole(&source, Theme::plain(40)).len() < 4_000_000);
    }
}

#[test]
fn prints_long_paragraph_before_it_ends() {
    let words = "A long paragraph with **bold words**, `code_like` and [a link](https://example.com/x) in it, which goes on \
                 and on so that only its last lines wait for more. ";
    let mut markdown = Markdown::new(Theme::plain(30));
    let mut early = String::new();
    for word in words.repeat(3).split_inclusive(' ') {
        early.push_str(&markdown.push(word));
        assert!(markdown.preview().len() <= 8, "{:?}", markdown.preview());
    }
    assert!(early.lines().count() > 8, "{early}");
    let whole = early + &markdown.finish();
    assert_eq!(whole, Markdown::whole(&words.repeat(3), Theme::plain(30)));
}

#[test]
fn open_mark_delays_its_paragraph() {
    for (source, is_settled) in [
        ("plain words, numbers 1.5 and a_name; done", true),
        ("**bold** and `code` and *more*, and [a](b) too", true),
        ("**bold words that", false),
        ("an `open code", false),
        ("[a link that](https://exam", false),
        ("[x]: y", false),
        ("a | b", false),
        ("a <b", false),
    ] {
        assert_eq!(inline::is_settled(source), is_settled, "{source}");
    }
}
