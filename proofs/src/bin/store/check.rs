//! Checks a run that was killed and resumed: no acknowledged event is lost or reordered, no tool ran twice,
//! the run completed, and its journal is intact.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;

use super::open::Kind;

/// Prompts of a run.
pub(crate) const PROMPTS: u64 = 3;
/// Number of processes after which a run must be complete.
const LIVES: usize = 4;

/// A process that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(60);

/// Kills a process that hangs, by its id, because the waiting code owns the `Child`.
struct HangGuard {
    over: Arc<(Mutex<bool>, Condvar)>,
    killed: std::thread::JoinHandle<bool>,
}

impl HangGuard {
    fn over(child: &Child) -> Self {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (seen, pid) = (Arc::clone(&over), child.id().to_string());
        let killed = std::thread::spawn(move || {
            let (flag, changed) = &*seen;
            let waiting = flag.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = changed.wait_timeout_while(waiting, LONGEST, |over| !*over);
            let hung = waited.is_ok_and(|(_, waited)| waited.timed_out());
            if hung {
                let _ = Command::new("kill").args(["-KILL", &pid]).status();
            }
            hung
        });
        Self { over, killed }
    }

    fn ended_it(self) -> bool {
        let (flag, changed) = &*self.over;
        *flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        self.killed.join().unwrap_or(false)
    }
}

/// A run that is killed and resumed until it completes.
pub(crate) struct Trial {
    pub(crate) kind: Kind,
    pub(crate) place: String,
    pub(crate) session: String,
    pub(crate) ledger: String,
    /// Acknowledged events: position and id, in the order reported.
    pub(crate) acknowledged: Vec<(u64, String)>,
    pub(crate) outages: usize,
    /// Failed appends that a planted mistake treated as successful.
    pub(crate) ignored: usize,
    /// Snapshots that could not be saved, or not before the end of the process.
    pub(crate) unsaved: usize,
    /// Prompts per process; [`PROMPTS`] make a whole run.
    pub(crate) prompts: u64,
    /// Whether some tool calls return large text.
    pub(crate) large: bool,
    /// Whether tool calls are slow.
    pub(crate) slow: bool,
    /// A planted mistake of the run.
    pub(crate) mistake: Option<String>,
}

impl Trial {
    pub(crate) fn new(kind: Kind, place: String, session: String, folder: &Path) -> Self {
        let ledger = folder.join("ledger").to_string_lossy().into_owned();
        Self {
            kind,
            place,
            session,
            ledger,
            acknowledged: Vec::new(),
            outages: 0,
            ignored: 0,
            unsaved: 0,
            prompts: PROMPTS,
            large: false,
            slow: false,
            mistake: None,
        }
    }

    /// The command that starts a process of the run, below `wrapper` if given.
    pub(crate) fn command(&self, wrapper: &[String]) -> Result<Command, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = match wrapper.split_first() {
            Some((program, options)) => {
                let mut command = Command::new(program);
                command.args(options).arg(own);
                command
            }
            None => Command::new(own),
        };
        let prompts = self.prompts.to_string();
        let named = ["child", "--store", self.kind.name(), "--place", &self.place, "--prompts", &prompts];
        command.args(named).args(["--session", &self.session, "--ledger", &self.ledger]);
        if self.large {
            command.args(["--large", "yes"]);
        }
        if self.slow {
            command.args(["--slow", "150"]);
        }
        if let Some(mistake) = &self.mistake {
            command.args(["--mistake", mistake]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Starts a process of the run.
    pub(crate) fn start(&self, wrapper: &[String]) -> Result<Child, String> {
        self.command(wrapper)?.spawn().map_err(|error| format!("{wrapper:?}: {error}"))
    }

    /// Reads the output of a process. Returns true if the run completed.
    pub(crate) fn read_output(&mut self, child: Child) -> Result<bool, String> {
        let watched = HangGuard::over(&child);
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let mut done = false;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next().and_then(|seq| seq.parse().ok()), words.next()) {
                (Some("ack"), Some(seq), Some(id)) => self.acknowledged.push((seq, id.to_owned())),
                (Some("outage"), ..) => self.outages += 1,
                (Some("ignored"), ..) => self.ignored += 1,
                (Some("saving"), ..) => self.unsaved += 1,
                (Some("saved"), ..) => self.unsaved -= 1,
                (Some("done"), ..) => done = true,
                (Some("violation"), ..) => return Err(format!("an invalid request: {line}")),
                _ => {}
            }
        }
        if watched.ended_it() {
            return Err(format!("it hangs: no output for {} seconds", LONGEST.as_secs()));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("panicked") {
            return Err(format!("it panicked: {said}"));
        }
        Ok(done)
    }

    /// Resumes until the run completes.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        for _ in 0..LIVES {
            let child = self.start(&[])?;
            if self.read_output(child)? {
                return Ok(());
            }
        }
        let mut command = self.command(&[])?;
        let output = command.output().map_err(|error| error.to_string())?;
        Err(format!("it does not complete: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Compares the acknowledgements, the journal and the ledger.
    pub(crate) async fn check(&self) -> Result<(), String> {
        let store = self.kind.open(&self.place).await?;
        let session_id = SessionId::from(self.session.as_str());
        let events = store.read(&session_id, 0, usize::MAX).await.map_err(|error| error.to_string())?;
        let mut reported: BTreeMap<u64, &str> = BTreeMap::new();
        for (seq, id) in &self.acknowledged {
            if let Some(other) = reported.insert(*seq, id).filter(|other| other != id) {
                return Err(format!("position {seq} was acknowledged twice: {other} and {id}"));
            }
        }
        for (seq, id) in reported {
            let there = usize::try_from(seq).ok().and_then(|seq| events.get(seq));
            match there {
                Some(event) if event.id.to_string() == id => {}
                Some(event) => return Err(format!("position {seq} has {}, acknowledged was {id}", event.id)),
                None => return Err(format!("event {seq} was acknowledged and is lost")),
            }
        }
        let mut started = HashSet::new();
        let (mut begun, mut ended) = (0, 0);
        for event in &events {
            match &event.event {
                AgentEvent::AgentStart(_) => begun += 1,
                AgentEvent::AgentEnd { .. } => ended += 1,
                AgentEvent::ToolExecutionStart { tool_call_id, .. }
                    if !started.insert((event.loop_id.clone(), tool_call_id.clone())) =>
                {
                    return Err(format!("call {tool_call_id} started twice"));
                }
                _ => {}
            }
        }
        if (begun, ended) != (PROMPTS, PROMPTS) {
            return Err(format!("{begun} runs began and {ended} ended, of {PROMPTS}"));
        }
        let ledger = std::fs::read_to_string(&self.ledger).unwrap_or_default();
        let mut lines = HashSet::new();
        if let Some(twice) = ledger.lines().find(|line| !lines.insert(*line)) {
            return Err(format!("a tool ran twice: {twice}"));
        }
        let unstarted = lines.iter().find(|line| {
            let (loop_id, call) = line.rsplit_once(' ').unwrap_or_default();
            !started.contains(&(Some(loop_id.into()), call.into()))
        });
        if let Some(line) = unstarted {
            return Err(format!("a tool ran and its start is not recorded: {line}"));
        }
        let verdict = store.verify(&session_id).await.map_err(|error| error.to_string())?;
        if !verdict.is_sound() {
            return Err(format!("the journal is damaged: {:?}", verdict.damage));
        }
        Ok(())
    }
}
