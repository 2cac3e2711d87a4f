use std::time::Duration;

use lariat_core::usage::Cost;
use lariat_terminal::text;
use lariat_terminal::theme::Theme;

use super::{Status, Waits};

fn status() -> Status<'static> {
    Status {
        waits: Waits::Tool { name: "bash".to_owned(), others: 0 },
        elapsed: Some(Duration::from_secs(83)),
        context: (45_000, 200_000),
        cost: Cost::from_usd(0.42),
        mode: "default",
        model: "anthropic/sonnet",
        directory: "/srv/me/project",
        branch: "main",
        sandbox: "landlock",
    }
}

#[test]
fn shows_everything_where_there_is_room() {
    let row = status().row(&Theme::plain(120));
    assert_eq!(
        row,
        "running bash · 1m 23s · default · 22% context · $0.4200 · sonnet · landlock · project · main"
    );
}

#[test]
fn leaves_out_the_least_important_first() {
    assert_eq!(status().row(&Theme::plain(60)), "running bash · 1m 23s · default · 22% context · $0.4200");
    assert_eq!(status().row(&Theme::plain(40)), "running bash · 1m 23s · default");
    assert_eq!(status().row(&Theme::plain(12)), "running bash");
    for width in 1..140 {
        assert!(text::width(&status().row(&Theme::plain(width))) <= width);
    }
}

#[test]
fn says_when_the_model_is_called_again() {
    let waits = Waits::Retry { left: Duration::from_secs(12), is_rate_limit: true };
    let row = Status { waits, ..status() }.row(&Theme::plain(40));
    assert!(row.starts_with("rate limit: next try in 12s"), "{row}");
}
