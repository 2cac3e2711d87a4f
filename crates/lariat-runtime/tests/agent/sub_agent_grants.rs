//! Property test: a sub-agent, and a sub-agent of it, may do nothing that its parent may not, whatever their rules, modes
//! and tool lists are.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use lariat_core::content::ToolCall;
use lariat_core::file_access::FileUse;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::permission::{PermissionPolicy, PolicyQuery, Verdict};
use lariat_core::tool::{Access, ToolEffects};
use lariat_guard::{Effect, Layer, Mode, NoLinks, Origin, SessionDirectories, Trust};
use lariat_runtime::{Gate, NarrowedPolicy};
use lariat_test::SeededRandom;
use serde_json::{Value, json};

/// Building the gates of one seed takes a few milliseconds.
const SEEDS: u64 = 250;

const RULES: &[&str] = &[
    "Bash",
    "Bash(git *)",
    "Bash(rm *)",
    "Bash(cargo test)",
    "Read",
    "Read(.env)",
    "Read(src/**)",
    "Edit",
    "Edit(src/**)",
    "Edit(/secrets/**)",
    "WebFetch(domain:example.com)",
    "mcp__docs",
    "mcp__docs__find",
    "*",
];

const TOOLS: &[&str] = &["bash", "read_file", "edit_file", "write_file", "fetch", "mcp__docs__find", "glob"];

fn rules(random: &mut SeededRandom) -> Layer {
    let mut layer = Layer::new(Origin::flags());
    for _ in 0..random.below(5) {
        let effect = *random.pick(&[Effect::Allow, Effect::Ask, Effect::Deny]).unwrap();
        let rule = random.pick(RULES).unwrap();
        layer = layer.with_rule(effect, rule);
    }
    layer
}

fn some_mode(random: &mut SeededRandom) -> Option<Mode> {
    random.chance(60).then(|| *random.pick(&Mode::ALL).unwrap())
}

fn gate(random: &mut SeededRandom) -> Arc<Gate> {
    let trust = if random.chance(70) { Trust::Trusted } else { Trust::Untrusted };
    let places = SessionDirectories::new("/w", "/people/me");
    let mut gate = Gate::new(vec![rules(random)], trust, places, Arc::new(NoLinks));
    if random.chance(50) {
        gate = gate.with_sandbox();
    }
    gate.set_mode(*random.pick(&Mode::ALL).unwrap());
    Arc::new(gate)
}

/// A narrowed policy, and whether it restricts at all.
fn narrowed(
    random: &mut SeededRandom,
    parent: Arc<dyn PermissionPolicy>,
    gate: &Gate,
) -> (Arc<NarrowedPolicy>, bool) {
    let mut policy = NarrowedPolicy::new(parent);
    let mut restricts = false;
    if random.chance(50) {
        let own = random.chance(50).then(|| rules(random));
        let mode = some_mode(random);
        restricts |= own.is_some() || mode.is_some();
        policy = policy.with_restriction(Arc::new(gate.restricted(own, mode)));
    }
    if random.chance(40) {
        let tools: Vec<String> =
            TOOLS.iter().filter(|_| random.chance(60)).map(|&tool| tool.to_owned()).collect();
        restricts = true;
        policy = policy.with_tools(tools);
    }
    (Arc::new(policy), restricts)
}

fn call(random: &mut SeededRandom) -> (ToolCall, ToolEffects) {
    let path = *random.pick(&["src/main.rs", ".env", "/secrets/key", "/etc/passwd", "notes.md"]).unwrap();
    let command = *random
        .pick(&[
            "git status",
            "git push",
            "rm -rf /",
            "rm a",
            "cargo test",
            "ls && curl x | sh",
            "cat .env > b",
        ])
        .unwrap();
    let tool = *random.pick(TOOLS).unwrap();
    let arguments: Value = match tool {
        "bash" => json!({ "command": command }),
        "fetch" => json!({ "url": "https://example.com/a" }),
        "mcp__docs__find" => json!({ "query": path }),
        _ => json!({ "path": path, "content": "x", "old_string": "a", "new_string": "b", "pattern": "*" }),
    };
    let effects = match tool {
        "bash" => ToolEffects::ALL,
        "fetch" => ToolEffects::NETWORK,
        "read_file" | "glob" => ToolEffects::READS,
        "mcp__docs__find" => *random.pick(&[ToolEffects::ALL, ToolEffects::READS]).unwrap(),
        _ => ToolEffects::READS.and(ToolEffects::WRITES),
    };
    (ToolCall { id: "c1".into(), name: tool.to_owned(), arguments, signature: None }, effects)
}

/// How far a verdict restricts: 0 runs, 1 asks, 2 does not run.
fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow | Verdict::Rewrite(_) => 0,
        Verdict::Ask(_) => 1,
        _ => 2,
    }
}

#[test]
fn grant_of_a_sub_agent_is_never_wider_than_its_parents() {
    let (session, loop_id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    let mut seen = [[0_u32; 3]; 3];
    for seed in 0..SEEDS {
        let mut random = SeededRandom::new(seed);
        let gate = gate(&mut random);
        let (child, child_restricts) = narrowed(&mut random, gate.clone(), &gate);
        let (grandchild, _) = narrowed(&mut random, child.clone(), &gate);
        for _ in 0..6 {
            let (call, effects) = call(&mut random);
            let query = PolicyQuery::new(&session, &loop_id, &call, effects);
            let of = |policy: &dyn PermissionPolicy| policy.check(query).now_or_never().unwrap();
            let (root, first, second) = (of(&*gate), of(&*child), of(&*grandchild));
            let context = || format!("seed {seed}: {call:?}\n{root:?}\n{first:?}\n{second:?}");
            assert!(rank(&root) <= rank(&first) && rank(&first) <= rank(&second), "{}", context());
            if !child_restricts {
                assert_eq!(rank(&root), rank(&first), "{}", context());
            }
            seen[usize::from(rank(&root))][usize::from(rank(&second))] += 1;

            assert!(gate.access() == Access::Full || child.access() == Access::Reads, "{}", context());
            assert!(child.access() == Access::Full || grandchild.access() == Access::Reads, "{}", context());
            for tool in TOOLS {
                assert!(gate.is_offered(tool) || !grandchild.is_offered(tool), "{tool}: {}", context());
            }
            let (Ok(permit), Ok(narrow)) = (gate.on_start(query), grandchild.on_start(query)) else {
                continue;
            };
            assert!(permit.access == Access::Full || narrow.access == Access::Reads, "{}", context());
            for path in ["/w/src/main.rs", "/w/.env", "/secrets/key", "/etc/passwd"] {
                for used in [FileUse::Read, FileUse::Write] {
                    let judged = |files: &Option<Arc<dyn lariat_core::file_access::FileAccessCheck>>| {
                        files.as_ref().is_none_or(|files| files.judge(Path::new(path), used).is_ok())
                    };
                    assert!(
                        judged(&permit.files) || !judged(&narrow.files),
                        "{path} {used:?}: {}",
                        context()
                    );
                }
            }
        }
    }
    // Every pair that may happen does: the test would notice if nothing were allowed at all.
    assert!(seen[0][0] > 50 && seen[0][1] > 10 && seen[0][2] > 10, "{seen:?}");
    assert!(seen[1][1] > 50 && seen[1][2] > 10 && seen[2][2] > 50, "{seen:?}");
}
