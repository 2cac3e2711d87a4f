use serde_json::json;

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_peer_that_was_not_measured_has_an_empty_row() {
    let measured = json!({ "a": { "one": { "wall": { "med": 0.0123 } }, "req_bytes": 3300, "ntools": 6 } });
    let text = table(&measured, &["a", "b"]);
    assert!(text.contains("| a | – | 12.3 | – | – | – | – | – | 3.3 / 6 |"), "{text}");
    assert!(text.contains("| b | – |"), "{text}");
}

#[test]
fn the_gap_at_the_end_is_compared_with_that_of_the_beginning() {
    let gaps: String = (0..999).map(|turn| if turn < 500 { "2\n" } else { "3\n" }).collect();
    assert!(flat("a", &gaps).unwrap().contains("(1.50×)"));
    assert!(flat("a", "1\n2\n").is_err());
}

#[test]
fn words_choose_who_is_measured() {
    let options = parse(&words(&["--kit", "k", "codex", "--write"])).unwrap();
    assert_eq!(options.kit.as_deref(), Some("k"));
    assert_eq!(options.peers, ["codex"]);
    assert!(options.write && !options.skip_install);
    assert!(parse(&words(&["--what"])).is_err());
}
