//! Measures the cost of a decision. The figures are meaningful only in a release build.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lariat_core::tool::ToolEffects;
use lariat_guard::{
    Effect, Guard, GuardDecision, Layer, Level, NoLinks, Origin, Query, SessionDirectories, Settings, Trust,
};
use serde_json::json;

/// A guard with as many rules as a busy project has.
fn guard() -> Guard {
    let mut layer = Layer::new(Origin::file(Level::Project, "/people/u/p/.claude/settings.json"));
    for index in 0..20 {
        layer = layer
            .with_rule(Effect::Deny, &format!("Bash(tool{index} *)"))
            .with_rule(Effect::Deny, &format!("Read(secrets{index}/**)"))
            .with_rule(Effect::Allow, &format!("Bash(program{index} *)"))
            .with_rule(Effect::Allow, &format!("Edit(src{index}/**)"));
    }
    let layer = layer.with_rule(Effect::Allow, "Bash(cargo test *)").with_rule(Effect::Allow, "Edit(src/**)");
    let settings = Settings::merge([layer], Trust::Trusted);
    Guard::new(settings, SessionDirectories::new("/people/u/p", "/people/u"), Arc::new(NoLinks))
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..2_000)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

#[test]
fn allowed_tool_call_is_decided_quickly() {
    let guard = guard();
    let calls = [
        ("bash", json!({ "command": "cargo test --workspace" })),
        ("bash", json!({ "command": "git status" })),
        ("read_file", json!({ "path": "src/lib.rs" })),
        ("edit_file", json!({ "path": "src/lib.rs" })),
    ];
    for (tool, arguments) in &calls {
        let query = Query::new(tool, arguments, ToolEffects::ALL);
        assert_eq!(guard.judge(&query).verdict, GuardDecision::Allow, "{tool} {arguments}");
        let median = median(|| {
            std::hint::black_box(guard.judge(&query));
        });
        println!("{tool} {arguments}: median {median:?}");
        // A test build is about twenty times slower than a release build; this only catches a change of order.
        assert!(median < Duration::from_millis(2), "{tool}: {median:?}");
    }
}

#[test]
fn deny_rule_matches_the_last_of_ten_thousand_parts() {
    let guard = guard();
    let command = format!("{}tool7 now", "echo a && ".repeat(10_000));
    let arguments = json!({ "command": command });
    let query = Query::new("bash", &arguments, ToolEffects::ALL);
    // The machine may be busy, so the best of a few runs is the cost.
    let best = |run: &mut dyn FnMut()| {
        let times = (0..5).map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        });
        times.min().unwrap()
    };
    let analysed = best(&mut || {
        assert_eq!(lariat_guard::shell::analyse(&command).commands.len(), 10_001);
    });
    let judged = best(&mut || {
        assert_eq!(guard.judge(&query).verdict, GuardDecision::Deny);
    });
    println!("10,000 parts: {judged:?}, of which {analysed:?} is the analysis");
}
