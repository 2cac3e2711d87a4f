//! Bugs that embedding programs found, where the program had them, too.

use lariat_testkit::server::{Script, Turn};

use crate::ground::Ground;

/// L3: a cap on money did nothing where the price of the model was not known.
#[tokio::test(flavor = "multi_thread")]
async fn a_cap_on_money_without_a_price_stops_before_the_first_request() {
    let ground = Ground::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let caps = ["LARIAT_LIMITS__COST", "LARIAT_BUDGET__SESSION", "LARIAT_BUDGET__DAY"];
    for cap in caps {
        let output = ground.command(&["run", "hello"]).env(cap, "0.01").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{cap}: {said}");
        assert!(said.contains("the price of `scripted` is not known"), "{said}");
        assert!(said.contains("limits.tokens"), "{said}");
    }
    ground.run(&["run", "hello", "--max-cost", "0.01"]).expect(3);
    // Looking at what would be sent costs nothing.
    ground.run(&["context", "show"]).expect(0);
    assert_eq!(ground.requests().len(), 0);
}
