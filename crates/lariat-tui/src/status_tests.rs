use std::time::Duration;

use lariat_core::usage::Cost;
use lariat_terminal::text;
use lariat_terminal::theme::Theme;

use super::{Item, Status, Waits, default_items, items};

fn status() -> Status<'static> {
    Status {
        waits: Waits::Tool { name: "bash".to_owned(), others: 0 },
        elapsed: Some(Duration::from_secs(83)),
        context: (45_000, 200_000),
        tasks: (2, 5),
        cost: Cost::from_usd(0.42),
        run_cost: Some(Cost::from_usd(0.03)),
        mode: "default",
        model: "anthropic/sonnet",
        directory: "/srv/me/project",
        branch: "main",
        sandbox: "landlock",
    }
}

fn row(width: usize) -> String {
    status().row(&default_items(), &Theme::plain(width))
}

#[test]
fn shows_everything_where_there_is_room() {
    assert_eq!(
        row(140),
        "running bash · 1m 23s · default · 22% context · 2/5 tasks · $0.4200 · sonnet · main · landlock · \
         project · $0.0300 this run"
    );
}

#[test]
fn leaves_out_the_last_items_first() {
    assert_eq!(row(70), "running bash · 1m 23s · default · 22% context · 2/5 tasks · $0.4200");
    assert_eq!(row(40), "running bash · 1m 23s · default");
    assert_eq!(row(12), "running bash");
    for width in 1..140 {
        assert!(text::width(&row(width)) <= width);
    }
}

#[test]
fn shows_the_named_items_in_their_order() {
    let named = items(&["model".to_owned(), "tasks".to_owned(), "waits".to_owned()]).unwrap();
    assert_eq!(named, [Item::Model, Item::Tasks, Item::Waits]);
    assert_eq!(status().row(&named, &Theme::plain(60)), "sonnet · 2/5 tasks · running bash");
    assert_eq!(status().row(&named, &Theme::plain(20)), "sonnet · 2/5 tasks");
    assert_eq!(items(&[]).unwrap(), default_items());
}

#[test]
fn refuses_an_unknown_item_and_lists_the_known_ones() {
    let error = items(&["modell".to_owned()]).unwrap_err();
    assert!(error.contains("`modell`") && error.contains("waits, elapsed, mode"), "{error}");
}

#[test]
fn says_when_the_model_is_called_again() {
    let waits = Waits::Retry { left: Duration::from_secs(12), is_rate_limit: true };
    let row = Status { waits, ..status() }.row(&default_items(), &Theme::plain(40));
    assert!(row.starts_with("rate limit: next try in 12s"), "{row}");
}
