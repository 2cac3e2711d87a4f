//! Measures what the permission gate costs a tool call that it allows, without hooks: everything between the
//! machine's permission request and the reply, and the claim when the tool call starts. Paths are resolved
//! through real symbolic links.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use lariat_core::content::ToolCall;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::permission::{PermissionPolicy, PolicyQuery, Verdict};
use lariat_core::tool::ToolEffects;
use lariat_guard::{Claims, Effect, Layer, Origin, Resolver, SessionDirectories, Trust};
use lariat_runtime::Gate;
use serde_json::json;

use super::Size;
use super::measure::{figure, goal};

const GOAL_MICROS: f64 = 20.0;
/// Limit for the short form, which runs while the machine does other work and only catches a change of magnitude.
const GOAL_SHORT: f64 = 80.0;

/// Resolves symbolic links like the host does, for files that exist.
struct Links;

impl Resolver for Links {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}

pub(crate) fn measure(size: Size) -> bool {
    let (rounds, most) = if size == Size::Full { (20_000, GOAL_MICROS) } else { (2_000, GOAL_SHORT) };
    let place = std::env::temp_dir().join(format!("lariat-bench-gate-{}", std::process::id()));
    if std::fs::create_dir_all(place.join("src")).is_err()
        || std::fs::write(place.join("src/lib.rs"), "").is_err()
    {
        return false;
    }
    let gate = gate(&place);
    let (session, id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    let mut met = true;
    for (tool, arguments) in [
        ("read_file", json!({ "path": "src/lib.rs" })),
        ("edit_file", json!({ "path": "src/lib.rs", "old_string": "a", "new_string": "b" })),
        ("bash", json!({ "command": "cargo test --workspace" })),
        ("bash", json!({ "command": "git status" })),
    ] {
        let what = format!(
            "{tool} {}",
            arguments.get("command").and_then(|command| command.as_str()).unwrap_or("src/lib.rs")
        );
        let call = ToolCall { id: "c".into(), name: tool.to_owned(), arguments, signature: None };
        let query = PolicyQuery::new(&session, &id, &call, ToolEffects::ALL);
        let mut times: Vec<f64> = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let start = Instant::now();
            let verdict = gate.check(query).now_or_never();
            let clearance = gate.on_start(query);
            times.push(start.elapsed().as_secs_f64() * 1e6);
            if verdict != Some(Verdict::Allow) || clearance.is_err() {
                figure("not allowed", what);
                return false;
            }
        }
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or(f64::MAX);
        met &= goal(&format!("{what} (median)"), at(50), "µs", most);
        figure("  the slowest of a hundred", format!("{:.1} µs", at(99)));
    }
    let _ = std::fs::remove_dir_all(&place);
    met
}

/// A gate with as many rules as a busy project has.
fn gate(place: &Path) -> Gate {
    let mut layer = Layer::new(Origin::flags());
    for index in 0..20 {
        layer = layer
            .with_rule(Effect::Deny, &format!("Bash(tool{index} *)"))
            .with_rule(Effect::Deny, &format!("Read(secrets{index}/**)"))
            .with_rule(Effect::Allow, &format!("Bash(program{index} *)"));
    }
    let layer = layer.with_rule(Effect::Allow, "Bash(cargo test *)").with_rule(Effect::Allow, "Edit(src/**)");
    Gate::new(vec![layer], Trust::Trusted, SessionDirectories::new(place, "/people/me"), Arc::new(Links))
        .with_claims(Claims::default())
}
