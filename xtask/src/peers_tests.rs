use serde_json::json;

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn agent_that_was_not_measured_has_an_empty_row() {
    let measured = json!({ "a": { "one": { "wall": { "med": 0.0123 } }, "req_bytes": 3300, "ntools": 6 } });
    let text = table(&measured, &["a", "b"]);
    assert!(text.contains("| a | – | 12.3 | – | – | – | – | – | 3.3 / 6 |"), "{text}");
    assert!(text.contains("| b | – |"), "{text}");
}

#[test]
fn compares_gaps_by_their_median() {
    let gaps: Vec<f64> = (0..999).map(|turn| if turn < 500 { 2.0 } else { 3.0 }).collect();
    assert_eq!(median(&gaps, 1, SPAN), 2.0);
    assert_eq!(median(&gaps, gaps.len() - SPAN, SPAN), 3.0);
    assert_eq!(median(&[9.0, 1.0, 2.0], 0, 3), 2.0);
}

#[test]
fn reports_missed_goals() {
    let mut measured = json!({
        "lariat": { "one": { "wall": { "med": 0.0151 }, "rss": { "med": 19.0 } } },
        "nothing": { "version": { "wall": { "med": 0.0036 } } },
    });
    set(&mut measured, "lariat", "flat", 1.5);
    set(&mut measured, "bare", "flat", 3.6);
    let (text, missed) = compare_with_goals(&measured);
    assert_eq!(missed, ["one turn, ms 15.10 (goal 15)"]);
    assert!(text.contains("| one turn, ms | 15.10 | 3.60 | ≤ 15: missed |"), "{text}");
    assert!(text.contains("| one turn, MB | 19.00 | – | ≤ 20 |"), "{text}");
    assert!(text.contains("turn 10 | 1.50 | 3.60 | ≤ 1.5 |"), "{text}");
    assert_eq!(text.lines().count(), 5, "{text}");
}

#[test]
fn arguments_select_the_agents_to_measure() {
    let options = parse(&words(&["--kit", "k", "codex", "--write"])).unwrap();
    assert_eq!(options.kit.as_deref(), Some("k"));
    assert_eq!(options.peers, ["codex"]);
    assert!(options.write && !options.skip_install);
    assert!(parse(&words(&["--what"])).is_err());
}
