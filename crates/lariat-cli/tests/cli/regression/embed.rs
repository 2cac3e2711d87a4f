//! Regression tests for bugs found by embedding programs that also affected the program.

use lariat_proofs::server::{Script, Turn};

use crate::fixture::Fixture;

/// A cost limit must not be ignored if the price of the model is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn cost_limit_without_price_stops_before_the_first_request() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let caps = ["LARIAT_LIMITS__COST", "LARIAT_BUDGET__SESSION", "LARIAT_BUDGET__DAY"];
    for cap in caps {
        let output = fixture.command(&["run", "hello"]).env(cap, "0.01").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{cap}: {said}");
        assert!(said.contains("the price of `scripted` is unknown"), "{said}");
        assert!(said.contains("limits.tokens"), "{said}");
    }
    fixture.run(&["run", "hello", "--max-cost", "0.01"]).expect(3);
    // Inspecting the context costs nothing.
    fixture.run(&["context", "show"]).expect(0);
    assert_eq!(fixture.requests().len(), 0);
}
