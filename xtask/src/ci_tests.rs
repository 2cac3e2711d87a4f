use std::time::Duration;

use super::{Outcome, table};

#[test]
fn report_shows_passed_failed_and_skipped_steps() {
    let report = [
        ("fmt", Outcome::Passed(Duration::from_millis(1_250), 1_300_000_000)),
        ("layers", Outcome::Failed(Duration::from_secs(2), 900_000_000)),
        ("test", Outcome::NotRun),
    ];
    let expected = "\
fmt     ok           1.2 s    1.3 GB
layers  FAILED       2.0 s    0.9 GB
test    not run
total                3.2 s    1.3 GB
";
    assert_eq!(table(&report), expected);
}

#[test]
fn report_notes_slow_runs_and_large_target_directories() {
    let large = [("test", Outcome::Passed(Duration::from_secs(2_401), 8_000_000_001))];
    let text = table(&large);
    assert!(text.contains("slow: ") && text.contains("large: "), "{text}");
    let fair = [("test", Outcome::Passed(Duration::from_secs(2_400), 8_000_000_000))];
    assert_eq!(table(&fair).lines().count(), 2);
}
