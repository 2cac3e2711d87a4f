//! One sequence: tool calls and changes by the user in between, then rewinds, each compared with a plain copy
//! of its point.
//!
//! The rule: after a rewind everything equals the copy, except what the user changed after the point; that is
//! kept and reported. A tool call that names its files scans nothing else, so a change that the user made
//! between it and the next full scan may be attributed to the time before: then the user's version is
//! restored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::tool::{AgentTool, ToolContext};
use lariat_host::files::{Sync, Workspace};
use lariat_host::undo::{Conflicts, Undo, UndoError, UndoLimits};
use lariat_test::SeededRandom;
use lariat_tools::{Commands, Workbench};
use serde_json::json;

use crate::actions;
use crate::world::{PathState, Snapshot, World, text};

/// Totals of all sequences.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sequences: u64,
    pub(crate) calls: u64,
    pub(crate) users: u64,
    pub(crate) rewinds: u64,
    pub(crate) undone: u64,
    pub(crate) reopened: u64,
    pub(crate) paths: u64,
    pub(crate) restored: u64,
    pub(crate) conflicts: u64,
    pub(crate) forgotten: u64,
    pub(crate) largest: u64,
}

/// A point to rewind to.
struct Point {
    call: String,
    copy: Snapshot,
    /// Whether a full scan happened at the point or later.
    looked: bool,
    /// What the user changed after that, with the number of scans before the change.
    since: BTreeMap<PathBuf, u64>,
    /// What the user changed before that, or reverted before the next scan, and the versions left there.
    doubt: BTreeMap<PathBuf, Vec<Option<PathState>>>,
}

struct Run<'a> {
    world: &'a World,
    limits: UndoLimits,
    undo: Undo,
    tools: Vec<Arc<dyn AgentTool>>,
    points: Vec<Point>,
    /// Number of full scans.
    looks: u64,
    /// What the user changed since the last full scan, with the state before.
    touched: PreviousStates,
}

type PreviousStates = BTreeMap<PathBuf, Option<PathState>>;

/// Size limit of a store that must drop old checkpoints.
const SMALL: u64 = 24_000;

/// Runs one sequence.
pub(crate) async fn run(template: &Path, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = SeededRandom::new(seed);
    let world = World::new(template, &seed.to_string())?;
    let small = seed % 8 == 7;
    let limits = UndoLimits::default().with_total(if small { SMALL } else { 50_000_000 });
    let (undo, tools) = start(&world, limits)?;
    let mut run = Run {
        world: &world,
        limits,
        undo,
        tools,
        points: Vec::new(),
        looks: 0,
        touched: PreviousStates::new(),
    };
    for number in 0..5 + random.below(10) {
        if random.chance(30) {
            run.user(&mut random)?;
            tally.users += 1;
        }
        run.call(&mut random, number).await?;
        tally.calls += 1;
    }
    if random.chance(40) {
        run.user(&mut random)?;
        tally.users += 1;
    }
    for _ in 0..1 + random.below(3) {
        if random.chance(30) {
            run = run.reopened()?;
            tally.reopened += 1;
        }
        run.rewind(&mut random, tally)?;
    }
    let bytes = world.disk_use();
    tally.largest = tally.largest.max(bytes);
    if small && bytes > SMALL + 4_000 {
        return Err(format!("{bytes} bytes on the disk, of {SMALL} allowed"));
    }
    tally.sequences += 1;
    Ok(())
}

fn start(world: &World, limits: UndoLimits) -> Result<(Undo, Vec<Arc<dyn AgentTool>>), String> {
    let workspace = Workspace::open(world.workspace()).map_err(text)?.with_sync(Sync::Fast);
    let undo = Undo::open(&workspace, world.store(), limits).map_err(text)?;
    let bench = Workbench::new(workspace).with_commands(Commands::Unconfined).with_undo(undo.clone());
    let mut tools = lariat_tools::file_tools(&bench);
    tools.extend(lariat_tools::command_tools(&bench));
    Ok((undo, tools))
}

impl Run<'_> {
    fn reopened(self) -> Result<Self, String> {
        let Self { world, limits, undo, tools, points, looks, touched } = self;
        drop((undo, tools));
        let (undo, tools) = start(world, limits)?;
        Ok(Self { world, limits, undo, tools, points, looks, touched })
    }

    fn user(&mut self, random: &mut SeededRandom) -> Result<(), String> {
        let before = self.world.copy()?;
        actions::user(random, self.world);
        let after = self.world.copy()?;
        let touched: BTreeSet<_> =
            paths(&[&before, &after]).filter(|path| before.get(path) != after.get(path)).collect();
        for path in &touched {
            self.touched.entry(path.clone()).or_insert_with(|| before.get(path).cloned());
        }
        for point in &mut self.points {
            for path in &touched {
                if point.looked {
                    point.since.entry(path.clone()).or_insert(self.looks);
                } else {
                    point.doubt.entry(path.clone()).or_default().push(after.get(path).cloned());
                }
            }
        }
        Ok(())
    }

    /// Records that a full scan is about to happen. Changes that the user already reverted were never
    /// visible.
    fn look(&mut self) -> Result<(), String> {
        let now = self.world.copy()?;
        for (path, before) in std::mem::take(&mut self.touched) {
            if now.get(&path) != before.as_ref() {
                continue;
            }
            for point in &mut self.points {
                if point.since.get(&path) == Some(&self.looks) {
                    point.since.remove(&path);
                    point.doubt.entry(path.clone()).or_default().push(before.clone());
                }
            }
        }
        self.points.iter_mut().for_each(|point| point.looked = true);
        self.looks += 1;
        Ok(())
    }

    async fn call(&mut self, random: &mut SeededRandom, number: u64) -> Result<(), String> {
        let action = actions::call(random, self.world);
        if let Some(path) = action.reads {
            let _ = self.execute("read_file", json!({ "path": path }), "read").await;
        }
        if action.tool == "bash" {
            self.look()?;
        }
        let call = format!("call-{number}");
        let copy = self.world.copy()?;
        // Many tool calls fail, and may have changed something before.
        let looked = action.tool == "bash";
        let _ = self.execute(action.tool, action.arguments, &call).await;
        self.points.push(Point { call, copy, looked, since: BTreeMap::new(), doubt: BTreeMap::new() });
        Ok(())
    }

    async fn execute(&self, name: &str, arguments: serde_json::Value, call: &str) -> Result<(), String> {
        let tool = self.tools.iter().find(|tool| tool.name() == name).ok_or("no such tool")?;
        let (session, running) = (SessionId::from("s"), LoopId::from("l"));
        let context = ToolContext::new(call.into(), name, session, running, CancellationToken::new());
        tool.execute(arguments, context).await.map(drop).map_err(text)
    }

    /// Rewinds to a random point, and sometimes undoes the rewind.
    fn rewind(&mut self, random: &mut SeededRandom, tally: &mut Tally) -> Result<(), String> {
        self.look()?;
        let Some(point) = self.points.get(random.index(self.points.len())) else { return Ok(()) };
        let mode = if random.chance(60) { Conflicts::Keep } else { Conflicts::Overwrite };
        let now = self.world.copy()?;
        let preview = match self.undo.preview(&point.call) {
            Ok(preview) => preview,
            // A small store drops checkpoints, and a call that was refused early has none.
            Err(UndoError::Unknown(_)) => {
                tally.forgotten += 1;
                return Ok(());
            }
            Err(error) => return Err(error.to_string()),
        };
        if self.world.copy()? != now {
            return Err("a preview changed something".to_owned());
        }
        let rewound = match self.undo.rewind(&preview, mode) {
            Ok(rewound) => rewound,
            // It records the present state first, and that can drop the checkpoint from a small store.
            Err(UndoError::Unknown(_)) if self.limits.total == SMALL => {
                if self.world.copy()? != now {
                    return Err("a rewind that was refused changed something".to_owned());
                }
                tally.forgotten += 1;
                return Ok(());
            }
            Err(error) => return Err(error.to_string()),
        };
        let after = self.world.copy()?;
        let told = |paths: &mut dyn Iterator<Item = &lariat_host::undo::RelativePath>| -> BTreeSet<PathBuf> {
            paths.map(|path| path.as_path().to_owned()).collect()
        };
        let kept = told(&mut rewound.kept.iter().map(|(path, _)| path));
        let lost = told(&mut rewound.not_restorable.iter());
        let whole = self.limits.total != SMALL;
        let fault = |what: &str, path: &Path| {
            let show =
                |copy: &Snapshot| format!("{:?}", copy.get(path)).chars().take(160).collect::<String>();
            Err(format!(
                "back to {} ({mode:?}): {what}: {}\n    then  {}\n    now   {}\n    after {}",
                point.call,
                path.display(),
                show(&point.copy),
                show(&now),
                show(&after)
            ))
        };
        let theirs: BTreeSet<_> = point.since.keys().chain(point.doubt.keys()).cloned().collect();
        for path in paths(&[&now, &point.copy, &after]) {
            tally.paths += 1;
            let (then, now, after) = (point.copy.get(&path), now.get(&path), after.get(&path));
            if mode == Conflicts::Keep && point.since.contains_key(&path) && now != then && after != now {
                return fault("the user's version is gone", &path);
            }
            if kept.contains(&path) || lost.contains(&path) {
                if after != now {
                    return fault("reported as kept, but changed", &path);
                }
                if lost.contains(&path) && whole {
                    return fault("not restorable", &path);
                }
                let justified = mode == Conflicts::Keep && is_near(&path, &theirs);
                if whole && kept.contains(&path) && !justified {
                    return fault("kept for no reason", &path);
                }
                continue;
            }
            let users =
                point.doubt.get(&path).is_some_and(|left| left.iter().any(|left| left.as_ref() == after));
            if after != then && !users {
                return fault("not restored", &path);
            }
            tally.restored += u64::from(now != then);
        }
        if self.world.at("ignored").exists() && !self.world.at("ignored").is_dir() {
            return Err("a file that git ignores was changed".to_owned());
        }
        tally.rewinds += 1;
        tally.conflicts += kept.len() as u64;
        let (since, doubt) = (BTreeMap::new(), BTreeMap::new());
        let forth = Point { call: rewound.id, copy: now, looked: true, since, doubt };
        if whole && random.chance(50) {
            let preview = self.undo.preview(&forth.call).map_err(text)?;
            if let Some(item) = preview.conflicts().next() {
                return Err(format!("conflict without a change by the user: {}", item.path));
            }
            self.undo.rewind(&preview, Conflicts::Keep).map_err(text)?;
            let again = self.world.copy()?;
            if let Some(path) =
                paths(&[&forth.copy, &again]).find(|path| forth.copy.get(path) != again.get(path))
            {
                return Err(format!("a rewind that was undone left {}", path.display()));
            }
            tally.undone += 1;
        }
        self.points.push(forth);
        Ok(())
    }
}

/// Whether a path, one above it or one below it is in the set.
fn is_near(path: &Path, those: &BTreeSet<PathBuf>) -> bool {
    those.iter().any(|that| path.starts_with(that) || that.starts_with(path))
}

/// Every path of these copies, once.
fn paths(copies: &[&Snapshot]) -> impl Iterator<Item = PathBuf> + use<> {
    copies.iter().flat_map(|copy| copy.keys().cloned()).collect::<BTreeSet<_>>().into_iter()
}
