use super::*;

fn block(text: &str, marked: bool) -> Block {
    Block { text: text.repeat(4), marked }
}

#[test]
fn the_cache_reads_the_longest_marked_prefix() {
    let mut cache = PrefixCache::default();
    let first = [block("a", true), block("b", true)];
    assert_eq!(cache.ask(&first, 0), Ok(Hit { tokens: 2, read: 0, written: 2 }));
    let second = [block("a", true), block("b", false), block("c", true)];
    assert_eq!(cache.ask(&second, 1), Ok(Hit { tokens: 3, read: 2, written: 1 }));
    let changed = [block("a", true), block("x", false), block("c", true)];
    assert_eq!(cache.ask(&changed, 2), Ok(Hit { tokens: 3, read: 1, written: 2 }));
}

#[test]
fn entries_expire_after_five_minutes_and_lookback_is_twenty_blocks() {
    let mut cache = PrefixCache::default();
    let _ = cache.ask(&[block("a", true)], 0);
    assert_eq!(cache.ask(&[block("a", true)], 299_999).map(|hit| hit.read), Ok(1));
    assert_eq!(cache.ask(&[block("a", true)], 599_998).map(|hit| hit.read), Ok(1), "use renews the entry");
    assert_eq!(cache.ask(&[block("a", true)], 899_998).map(|hit| hit.read), Ok(0));
    let far = |n: usize| -> Vec<Block> {
        let mut blocks = vec![block("a", false)];
        blocks.extend((0..n).map(|_| block("b", false)));
        blocks.last_mut().unwrap().marked = true;
        blocks
    };
    let _ = cache.ask(&[block("a", true)], 899_999);
    assert_eq!(cache.clone().ask(&far(20), 900_000).map(|hit| hit.read), Ok(1));
    assert_eq!(cache.ask(&far(21), 900_000).map(|hit| hit.read), Ok(0));
}

#[test]
fn more_marks_than_the_provider_accepts_are_an_error() {
    let blocks: Vec<Block> = (0..5).map(|_| block("a", true)).collect();
    assert!(PrefixCache::default().ask(&blocks, 0).is_err());
}

#[tokio::test]
async fn a_short_run_keeps_its_prefix_and_every_mistake_is_noticed() {
    let report = play(1, 60, None).await.unwrap();
    assert!(report.turns.len() >= 59);
    assert!(report.median(|turn| turn.shared) >= 950, "{report:?}");
    for mistake in Mistake::ALL {
        let report = play(1, 60, Some(mistake)).await.unwrap();
        assert!(!report.faults().is_empty(), "{mistake:?} was not noticed");
    }
}
