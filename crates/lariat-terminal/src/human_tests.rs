use super::*;

#[test]
fn formats_ages_and_times() {
    let now = Timestamp::from_millis(1_780_000_000_000);
    let before = |seconds: u64| ago(Timestamp::from_millis(now.as_millis() - seconds * 1_000), now);
    assert_eq!(before(0), "just now");
    assert_eq!(before(59), "just now");
    assert_eq!(before(3 * MINUTE + 59), "3 min ago");
    assert_eq!(before(HOUR), "1 h ago");
    assert_eq!(before(DAY), "yesterday");
    assert_eq!(before(5 * DAY), "5 days ago");
    assert_eq!(before(400 * DAY), "2025-04-23");
    assert_eq!(ago(now.after(Duration::from_secs(5)), now), "just now");
    assert_eq!(time(now), "2026-05-28 20:26");
}

#[test]
fn formats_durations() {
    assert_eq!(elapsed(Duration::from_millis(1_999)), "1s");
    assert_eq!(elapsed(Duration::from_secs(200)), "3m 20s");
    assert_eq!(duration(Duration::from_millis(40)), "40ms");
    assert_eq!(duration(Duration::from_millis(449)), "0.4s");
    assert_eq!(duration(Duration::from_millis(59_999)), "59.9s");
    assert_eq!(duration(Duration::from_secs(200)), "3m 20s");
    assert_eq!(duration(Duration::from_secs(7_500)), "2h 05m");
}

#[test]
fn formats_counts_sizes_and_money() {
    assert_eq!(
        [0, 999, 1_000, 12_345, 999_999, 4_000_000].map(count),
        ["0", "999", "1.0k", "12.3k", "999.9k", "4.0M"]
    );
    assert_eq!([0, 1_023, 1_024, 12_600].map(size), ["0 B", "1023 B", "1.0 KB", "12.3 KB"]);
    assert_eq!(count(u64::MAX), "18446744073.7G");
    let dollars = |nanos| money(Cost::from_nano_usd(nanos));
    assert_eq!(dollars(0), "$0");
    assert_eq!(dollars(99_999), "<$0.0001");
    assert_eq!(dollars(12_300_000), "$0.0123");
    assert_eq!(dollars(12_345_000_000), "$12.34");
    assert_eq!(counted(1_usize, "file", "files"), "1 file");
    assert_eq!(counted(0_u64, "file", "files"), "0 files");
}
