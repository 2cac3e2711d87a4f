//! Cuts and kills of the program: `lariat run` on a real socket, with commands that append to the ledger.

use std::path::Path;
use std::sync::Arc;

use lariat_proofs::server::Wire;
use lariat_proofs::wire;

use super::conversation::{Caller, Conversation, Cut, Ending, LAST_WORDS};
use super::judge::{Expected, judge};
use super::mistake::Mistake;
use super::response::Framing;
use super::service::Service;
use crate::home::{Ended, Home};

const PROMPT: &str = "Remove what is old.";
/// What the model receives for a call that was running when the program was killed.
const UNKNOWN: &str = "its outcome is unknown";

/// What happens to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The first reply of a stage is cut; the program continues by itself.
    Cut(Ending),
    /// It is killed while a reply arrives.
    KilledInReply,
    /// It is killed while the call of a stage runs.
    KilledInCall,
}

/// One run of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) number: usize,
    pub(crate) wire: Wire,
    pub(crate) fate: Fate,
    pub(crate) stage: usize,
    /// Where the reply ends, in thousandths of its bytes.
    pub(crate) place: usize,
}

impl Case {
    /// The cases: each fate in each protocol and stage, at places that differ.
    pub(crate) fn all(count: usize, wires: &[Wire], first: usize) -> Vec<Self> {
        let fates = [
            Fate::KilledInCall,
            Fate::KilledInReply,
            Fate::Cut(Ending::Reset),
            Fate::KilledInCall,
            Fate::Cut(Ending::Fin),
        ];
        let mut cases = Vec::new();
        for (at, wire) in wires.iter().cycle().take(if wires.is_empty() { 0 } else { count }).enumerate() {
            let fate = fates.get((at / wires.len()) % fates.len()).copied().unwrap_or(Fate::KilledInCall);
            let stage = 1 + at % 2;
            cases.push(Self {
                number: first + at,
                wire: *wire,
                fate,
                stage,
                place: (at * 617 + 300) % 1_000,
            });
        }
        cases
    }

    fn cut(self, framing: Framing) -> Option<Cut> {
        let ending = match self.fate {
            Fate::Cut(ending) => ending,
            Fate::KilledInReply => Ending::Silence,
            Fate::KilledInCall => return None,
        };
        let sample =
            Conversation::new(self.number, (self.wire, framing), None, held("held"), "ledger".into());
        // Only a reply that is not complete leaves the program waiting.
        let at = sample.response(self.stage).declared_at.saturating_sub(1) * self.place / 1_000;
        Some(Cut { stage: self.stage, at, ending })
    }
}

fn held(path: impl AsRef<Path>) -> Caller {
    Caller::Program { held: path.as_ref().to_owned() }
}

/// Runs a case. Returns how many calls ran, and what is wrong.
pub(crate) fn run(
    case: Case,
    program: &Path,
    service: &Service,
    mistake: Option<Mistake>,
) -> Result<(usize, Vec<String>), String> {
    let framing = if case.number.is_multiple_of(2) { Framing::Chunked } else { Framing::UntilClose };
    let words = |error: std::io::Error| error.to_string();
    let home = Home::new(program, "").map_err(words)?.with("TEST_KEY", "sk-test");
    let (ledger, hold) = (home.path("ledger"), home.path("held"));
    let conversation =
        Conversation::new(case.number, (case.wire, framing), case.cut(framing), held(&hold), ledger);
    let conversation = Arc::new(conversation);
    let base_url = service.add(&conversation);
    let settings = format!(
        "model = \"test/scripted\"\nmode = \"bypass\"\n[sandbox]\nenabled = false\n[providers.test]\n\
         api = \"{}\"\nbase_url = \"{base_url}\"\nkey_env = \"TEST_KEY\"\n",
        wire::api(case.wire).as_str()
    );
    std::fs::write(home.path("config/lariat/config.toml"), settings).map_err(words)?;
    let faults = play(case, &home, &conversation, &hold, mistake);
    service.remove(&conversation);
    Ok((conversation.executions().len(), faults?))
}

fn play(
    case: Case,
    home: &Home,
    conversation: &Conversation,
    hold: &Path,
    mistake: Option<Mistake>,
) -> Result<Vec<String>, String> {
    let mut killed_call = None;
    let ended = match case.fate {
        Fate::Cut(_) => home.run(&["run", PROMPT])?,
        Fate::KilledInReply => {
            let mut running = home.start(&["run", PROMPT])?;
            running.wait_for("the reply is silent", || conversation.observed().is_silent)?;
            let killed = running.kill()?;
            check_killed(&killed)?;
            resume(home, mistake)?
        }
        Fate::KilledInCall => {
            let hold = Conversation::held(hold, case.stage);
            std::fs::write(&hold, "").map_err(|error| error.to_string())?;
            let mut running = home.start(&["run", PROMPT])?;
            let stage = format!("s{}a", case.stage);
            let is_running = || {
                let ran = conversation.executions();
                ran.last().is_some_and(|(id, entry)| entry == "whole" && id.contains(&stage))
            };
            running.wait_for("a call that waits", is_running)?;
            let killed = running.kill()?;
            check_killed(&killed)?;
            killed_call = conversation.executions().pop().map(|(id, _)| id);
            std::fs::remove_file(hold).map_err(|error| error.to_string())?;
            resume(home, mistake)?
        }
    };
    let mut faults = judge(conversation, Expected::AtMostOnce);
    if ended.code != Some(0) || !String::from_utf8_lossy(&ended.stdout).contains(LAST_WORDS) {
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        faults.push(format!("ended with {:?}: {}", ended.code, said.trim_end()));
    }
    let last = conversation.observed().last.clone();
    let last = if mistake == Some(Mistake::HidesUnknownOutcomes) { last.replace(UNKNOWN, "") } else { last };
    let (marks, wanted) = (last.matches(UNKNOWN).count(), usize::from(killed_call.is_some()));
    if marks < wanted || (wanted == 0 && marks > 0) {
        faults.push(format!("{marks} outcomes are reported as unknown; the killed call was {killed_call:?}"));
    }
    Ok(faults)
}

fn check_killed(ended: &Ended) -> Result<(), String> {
    match ended.code {
        None => Ok(()),
        Some(code) => Err(format!("ended with {code} before it was killed")),
    }
}

fn resume(home: &Home, mistake: Option<Mistake>) -> Result<Ended, String> {
    match mistake {
        Some(Mistake::StartsOver) => home.run(&["run", PROMPT]),
        _ => home.run(&["run", "--continue"]),
    }
}
