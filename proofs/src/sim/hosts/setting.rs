//! What the seed decides about a host and its clients before they begin.

use std::time::Duration;

use lariat_api::{AskPolicy, CreateSession};
use lariat_core::config::{ContextConfig, ExecutionLimits};
use lariat_core::id::{SessionId, ToolCallId};
use lariat_test::SeededRandom;

use super::super::loops::verdict_roll;

/// The most tokens of a reply.
pub(super) const MOST_TOKENS: u64 = 400;
/// The directory of all sessions.
pub(super) const DIRECTORY: &str = "/work";
/// The permission modes: ask about some calls, about all, or put changes on a plan.
pub(super) const DEFAULT_MODE: &str = "default";
pub(super) const CAREFUL: &str = "careful";
pub(super) const PLAN: &str = "plan";
pub(super) const MODES: [&str; 3] = [DEFAULT_MODE, CAREFUL, PLAN];
/// The models that a client may choose.
pub(super) const DEFAULT_MODEL: &str = "sim";
pub(super) const MODELS: [&str; 2] = [DEFAULT_MODEL, "other"];
/// The end of the id of a call that carries out a change of a plan.
pub(super) const APPROVED: &str = "-approved";
/// Numbers of [`verdict_roll`] for which the permission check denies a call.
const FORBIDDEN: std::ops::Range<u64> = 84..92;

/// What stays the same in all lives of the process.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) seed: u64,
    pub(super) troubled_lives: u64,
    pub(super) clients: usize,
    pub(super) followers: usize,
    /// Sessions that clients create, besides forks.
    pub(super) sessions: usize,
    pub(super) most_forks: usize,
    pub(super) ask_policy: AskPolicy,
    pub(super) idle_time: Duration,
    /// Whether a host continues interrupted runs when it starts.
    pub(super) recovers: bool,
    pub(super) limits: Option<ExecutionLimits>,
    pub(super) context: Option<ContextConfig>,
    pub(super) has_jumps: bool,
    pub(super) snapshot_every: u64,
}

impl Setting {
    pub(super) fn new(seed: &SeededRandom) -> Self {
        let mut random = seed.fork("setting");
        let limits = ExecutionLimits::default()
            .with_max_turns(2 + random.index(6))
            .with_max_total_tokens(1_000 + random.index(6_000));
        let mut context = ContextConfig::with_window(900 + random.index(3_000));
        (context.system_prompt_tokens, context.keep_first) = (100, 1);
        context.keep_recent = 1 + random.index(3);
        Self {
            seed: seed.seed(),
            troubled_lives: random.below(5),
            clients: 2 + random.index(3),
            followers: 1 + random.index(2),
            sessions: 1 + random.index(2),
            most_forks: random.index(3),
            ask_policy: if random.chance(20) { AskPolicy::Deny } else { AskPolicy::Wait },
            idle_time: Duration::from_secs(if random.chance(40) { 5 } else { 300 }),
            recovers: random.chance(50),
            limits: Some(limits).filter(|_| random.chance(40)),
            context: Some(context).filter(|_| random.chance(60)),
            has_jumps: random.chance(25),
            snapshot_every: if random.chance(50) { 6 } else { 4_096 },
        }
    }

    /// The sessions that clients create.
    pub(super) fn session_ids(&self) -> Vec<SessionId> {
        (0..self.sessions).map(|number| SessionId::from(format!("s{number}"))).collect()
    }

    /// The sessions that clients follow: the second follower prefers a fork, if there will be one.
    pub(super) fn followed(&self) -> Vec<SessionId> {
        let mut followed = self.session_ids();
        if self.most_forks > 0 {
            followed.insert(1, SessionId::from("f0"));
        }
        followed.truncate(self.followers);
        followed
    }

    /// The request that creates a session: always the same for the same session, and for every client.
    pub(super) fn creation(&self, session_id: &SessionId) -> CreateSession {
        let mut random = SeededRandom::new(self.seed).fork(&format!("creation of {session_id}"));
        let mut request = CreateSession::new(session_id.clone(), DIRECTORY);
        let (title, mode, model) = (random.chance(50), random.chance(30), random.chance(30));
        request.title = title.then(|| format!("title of {session_id}"));
        request.mode = random.pick(&MODES).filter(|_| mode).map(|mode| (*mode).to_owned());
        request.model = random.pick(&MODELS).filter(|_| model).map(|model| (*model).to_owned());
        request
    }

    /// The random number that decides the permission check's verdict on a call.
    pub(super) fn verdict_roll(&self, call: &ToolCallId) -> u64 {
        verdict_roll(self.seed, call)
    }

    /// Whether the permission check never allows a call.
    pub(super) fn is_forbidden(&self, call: &ToolCallId) -> bool {
        !call.as_str().ends_with(APPROVED) && FORBIDDEN.contains(&self.verdict_roll(call))
    }
}
