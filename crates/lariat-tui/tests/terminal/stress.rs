//! Many items and resizes: nothing is lost, and only changes are written.

use std::time::Duration;

use crate::fake::Fake;
use crate::kit::Running;
use crate::story::{ends, replies, starts, streams};

#[tokio::test(start_paused = true)]
async fn streaming_draws_at_most_sixty_frames_a_second() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    starts(&fake, "Stream");
    client.settles().await;
    let before = client.writes();
    for number in 0..500 {
        streams(&fake, 2, &format!("word{number} "));
        client.passes(Duration::from_millis(2)).await;
    }
    let frames = client.writes() - before;
    assert!(frames <= 60, "{frames} frames in a second");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_model_draws_once_a_second() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    starts(&fake, "Wait");
    client.settles().await;
    let before = client.writes();
    client.passes(Duration::from_secs(30)).await;
    let frames = client.writes() - before;
    assert!((29..=31).contains(&frames), "{frames} frames in 30 seconds");
}

#[tokio::test(start_paused = true)]
async fn random_resizes_lose_and_repeat_no_reply() {
    let fake = Fake::new();
    let mut client = Running::start(&fake, 80, 24);
    client.settles().await;
    let mut random = 11_u64;
    let mut below = move |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    for number in 0..200 {
        starts(&fake, &format!("<{number}>"));
        replies(&fake, 10 + number, &format!("[{number}]"));
        ends(&fake);
        if below(3) == 0 {
            let size = (40 + below(160), 12 + below(48));
            client.resize(usize::try_from(size.0).unwrap(), usize::try_from(size.1).unwrap());
        }
        client.passes(Duration::from_millis(below(60))).await;
    }
    client.settles().await;
    let all = client.all();
    let found: Vec<String> = all
        .iter()
        .filter_map(|row| Some(row[row.find('[')?..].split_inclusive(']').next()?.to_owned()))
        .filter(|found| found.ends_with(']'))
        .collect();
    let expected: Vec<String> = (0..200).map(|number| format!("[{number}]")).collect();
    assert_eq!(found, expected);
}

/// The event of a resize came after a key, and the frame for the key had more rows than the terminal: the rows that did
/// not fit stayed in the scrollback.
#[tokio::test(start_paused = true)]
async fn no_frame_is_made_for_a_size_that_the_terminal_no_longer_has() {
    let fake = Fake::new();
    let mut client = Running::start(&fake, 80, 24);
    client.settles().await;
    let before = client.writes();
    client.resize_terminal(40, 6);
    client.types("abc");
    client.settles().await;
    assert_eq!(client.writes(), before, "{}", client.screen());
    client.resize(40, 6);
    client.passes(Duration::from_millis(200)).await;
    assert_eq!(client.writes(), before + 1);
    assert!(client.screen().starts_with("› abc▏"), "{}", client.screen());
    assert!(client.all().iter().filter(|row| row.contains('›')).count() == 1, "{:?}", client.all());
}

#[tokio::test(start_paused = true)]
async fn a_key_does_not_wait_for_the_next_frame() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    for typed in ["a", "ab", "abc"] {
        client.types(&typed[typed.len() - 1..]);
        client.passes(Duration::from_millis(3)).await;
        assert!(client.screen().contains(&format!("› {typed}▏")), "{}", client.screen());
    }
}
