//! Tests the text about commands.

use super::plain;

#[test]
fn removes_terminal_escape_sequences() {
    assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m\r\nnext"), "red\nnext");
    assert_eq!(plain("\u{1b}]0;title\u{7}text\u{1b}]8;;x\u{1b}\\link"), "textlink");
    assert_eq!(plain("abc\u{8}d\u{1b}(B"), "abd");
    assert_eq!(plain("10%\r20%"), "10%\r20%");
    assert_eq!(plain("\u{1b}["), "");
}
