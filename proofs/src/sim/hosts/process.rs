//! What a process of a host runs: the host on the surviving store, its clients and its followers.
//!
//! In the last life nothing disturbs it, and [`super::rest`] brings every session to rest.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::{Action, Principal};
use lariat_core::clock::Clock as _;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_sessions::{HostOptions, Local, PermissionModes as _};
use lariat_test::{EPOCH, FaultyStore, ScriptedModel, SeededEntropy, SeededRandom};

use super::super::choice::ChoiceKind;
use super::super::process_store::ProcessStore;
use super::super::steps::Steps;
use super::super::violation::Violation;
use super::super::wall_clock::WallClock;
use super::agents::{Modes, SimAgents};
use super::clients::Client;
use super::commands::{CommandBook, principal};
use super::followers::{self, FollowedLog};
use super::setting::{DEFAULT_MODE, Setting};
use super::watch::Watch;

/// What the tasks of a process share.
pub(super) struct Process {
    pub(super) setting: Setting,
    pub(super) watch: Arc<Watch>,
    pub(super) commands: Arc<CommandBook>,
    pub(super) followers: Vec<Arc<Mutex<FollowedLog>>>,
    pub(super) model: Arc<ScriptedModel>,
    pub(super) store: Arc<FaultyStore>,
    pub(super) clock: WallClock,
    pub(super) entropy: Arc<SeededEntropy>,
    pub(super) steps: Steps,
    pub(super) tool_random: Arc<Mutex<SeededRandom>>,
    /// Of this life only.
    pub(super) random: SeededRandom,
    /// Whether clients and the store disturb the process.
    pub(super) troubled: bool,
}

impl Process {
    /// Serves until the clients of this life have done what they want, or until every session is at rest.
    pub(super) async fn run(self: Arc<Self>) -> Result<(), Violation> {
        let host = self.host();
        if self.setting.recovers {
            // A client continues what the host does not.
            let recovered = host.recover_interrupted(EPOCH).await;
            self.watch.note(|| format!("recovered {recovered:?}"));
        }
        for number in 0..self.followers.len() {
            drop(tokio::spawn(followers::follow(Arc::clone(&self), host.clone(), number)));
        }
        if !self.troubled {
            return super::rest::bring_to_rest(&self, &host).await;
        }
        let mut clients = Vec::new();
        for number in 0..self.setting.clients {
            let client = Client::new(Arc::clone(&self), &host, number);
            clients.push(tokio::spawn(client.act()));
        }
        if self.setting.has_jumps {
            drop(tokio::spawn(Arc::clone(&self).jump()));
        }
        for client in clients {
            match client.await {
                Ok(result) => result?,
                Err(error) => return Err(Violation::Panicked(error.to_string())),
            }
        }
        Ok(())
    }

    fn host(self: &Arc<Self>) -> Local {
        let store = ProcessStore::new(Arc::clone(&self.store), self.watch.book.clone(), self.steps.clone());
        let mut options = HostOptions::default();
        (options.ask_policy, options.idle_time) = (self.setting.ask_policy, self.setting.idle_time);
        let agents = Arc::new(SimAgents(Arc::clone(self)));
        Local::new(Arc::new(store), agents, Principal::new(principal(0)), options)
    }

    /// Sets the clock, now and then.
    async fn jump(self: Arc<Self>) {
        let mut random = self.random.fork("jumps");
        for _ in 0..random.below(4) {
            let (wait, distance, is_back) =
                (random.below(600_000), random.below(7_200_000), random.chance(50));
            self.sleep(wait).await;
            self.steps.pass().await;
            if self.watch.choices.disturb(ChoiceKind::Clock) {
                let distance = Duration::from_millis(distance);
                let direction = if is_back { "back" } else { "forward" };
                self.watch.choices.tell(|| format!("The clock jumps {direction} by {distance:?}."));
                self.clock.jump(distance, is_back);
            }
        }
    }

    pub(super) async fn sleep(&self, milliseconds: u64) {
        self.clock.sleep_until(self.clock.now().after(Duration::from_millis(milliseconds))).await;
    }

    /// The permission mode of an agent, which must be the one in the journal unless a client changes it now.
    pub(super) fn check_mode(&self, session_id: &SessionId, modes: &Modes) -> String {
        let mode = modes.mode();
        let chosen = self.store.inspect(session_id, |events| {
            events.iter().rev().find_map(|event| match &event.event {
                AgentEvent::ModeChanged { mode } => Some(mode.clone()),
                _ => None,
            })
        });
        let chosen = chosen.unwrap_or_else(|| DEFAULT_MODE.to_owned());
        let is_changing = self.commands.awaits(session_id, |action| matches!(action, Action::SetMode { .. }));
        if mode != chosen && !is_changing {
            self.watch.report(Violation::WrongChoice(format!(
                "{session_id} applies mode `{mode}` instead of `{chosen}`"
            )));
        }
        mode
    }
}
