//! Models a disk that loses power: which changes it may contain at a moment, and the resulting files.
//!
//! Bytes: what was synced is present. Of each later write, all, nothing or some sectors of 512 bytes are
//! present, in any combination; the last one may end at any byte. Where a write that made a file longer is
//! missing, there are zeros, or the file is shorter. A synced sector keeps its old bytes when the power is
//! lost while it is written again. What a failed sync covered is missing, or present as if it had not been synced; a later
//! sync does not make it durable.
//! Names: the entries of a synced directory are present. Later changes of names are present up to one of
//! them, like on a journalling file system, or, in the loose variant, each is present or not. In both
//! variants, syncing a file also keeps the name it was created with, as ext4 and XFS do, but neither a later
//! name nor the directories above.
//! Invariant: the same recording, moment and seed give the same image.

use std::collections::BTreeMap;

use lariat_test::SeededRandom;

use super::recording::{Change, NodeId, Op, ROOT, Recording};

/// Bytes that a disk writes as a unit.
const SECTOR: u64 = 512;

/// A recording, prepared for many cuts.
#[derive(Debug)]
pub struct Disk<'a> {
    recording: &'a Recording,
    /// For each change, when a sync made it durable.
    safe: Vec<Option<usize>>,
    /// For each change of bytes, when a sync that covered it failed.
    gone: Vec<Option<usize>>,
    /// The changes of each file, as positions in the recording.
    contents: BTreeMap<NodeId, Vec<usize>>,
    /// The changes of names, as positions in the recording.
    names: Vec<usize>,
}

/// The contents of a disk after a power loss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Directories below the recorded one, each after its parent.
    pub folders: Vec<String>,
    /// Files with their bytes.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// How much of what is not durable is present.
#[derive(Clone, Copy)]
enum SurvivalRate {
    Nothing,
    Everything,
    /// Each change with this probability in percent.
    Some(u8),
}

/// What happens to a change that is not durable.
enum WriteOutcome {
    Present,
    Lost,
    Torn,
}

impl SurvivalRate {
    fn drawn(dice: &mut SeededRandom) -> Self {
        match dice.below(8) {
            0 => Self::Nothing,
            1 => Self::Everything,
            part => Self::Some(u8::try_from(part * 14).unwrap_or(50)),
        }
    }

    fn fate(self, dice: &mut SeededRandom) -> WriteOutcome {
        match self {
            Self::Nothing => WriteOutcome::Lost,
            Self::Everything => WriteOutcome::Present,
            Self::Some(_) if dice.chance(25) => WriteOutcome::Torn,
            Self::Some(percent) if dice.chance(percent) => WriteOutcome::Present,
            Self::Some(_) => WriteOutcome::Lost,
        }
    }
}

impl<'a> Disk<'a> {
    /// Prepares a recording.
    pub fn new(recording: &'a Recording) -> Self {
        let mut syncs: BTreeMap<NodeId, Vec<(usize, usize)>> = BTreeMap::new();
        let mut failures: BTreeMap<NodeId, Vec<(usize, usize)>> = BTreeMap::new();
        for op in &recording.ops {
            match op.change {
                Change::Sync(node) => syncs.entry(node).or_default().push((op.begun, op.ended)),
                Change::FailedSync(node) => failures.entry(node).or_default().push((op.begun, op.ended)),
                _ => {}
            }
        }
        // A sync covers what was done before it began, from the moment it ended.
        let first = |of: &BTreeMap<NodeId, Vec<(usize, usize)>>, node: &NodeId, op: &Op| {
            let later = of.get(node).into_iter().flatten().filter(|(begun, _)| *begun > op.ended);
            later.map(|(_, ended)| *ended).min()
        };
        let synced = |node: &NodeId, op: &Op| first(&syncs, node, op);
        // The first sync decides.
        let failed = |node: &NodeId, op: &Op| {
            first(&failures, node, op).filter(|failed| synced(node, op).is_none_or(|synced| *failed < synced))
        };
        let (mut contents, mut names) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
        let (mut safe, mut gone) = (Vec::new(), Vec::new());
        for (at, op) in recording.ops.iter().enumerate() {
            gone.push(match &op.change {
                Change::Write { node, .. } => failed(node, op),
                _ => None,
            });
            safe.push(match &op.change {
                Change::Write { node, .. } | Change::Truncate { node, .. } => {
                    contents.entry(*node).or_default().push(at);
                    synced(node, op).filter(|_| gone.last().is_none_or(Option::is_none))
                }
                Change::Enter { folder, node, is_folder, .. } => {
                    names.push(at);
                    let by_itself = if *is_folder { None } else { synced(node, op) };
                    by_itself.into_iter().chain(synced(folder, op)).min()
                }
                Change::Move { to: (folder, _), .. } | Change::Leave { folder, .. } => {
                    names.push(at);
                    synced(folder, op)
                }
                Change::Sync(_) | Change::FailedSync(_) | Change::Acknowledge { .. } => None,
            });
        }
        Self { recording, safe, gone, contents, names }
    }

    /// The moments that differ: within each call, and after it.
    pub fn cuts(&self) -> Vec<usize> {
        let mut cuts: Vec<usize> =
            self.recording.ops.iter().flat_map(|op| [op.begun + 1, op.ended + 1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// All changes, as if the power had never been lost.
    pub fn whole(&self) -> Image {
        self.cut(usize::MAX, SurvivalRate::Everything, &mut SeededRandom::new(0))
    }

    /// A possible image when the power is lost at a moment.
    pub fn image(&self, moment: usize, dice: &mut SeededRandom) -> Image {
        let luck = SurvivalRate::drawn(dice);
        self.cut(moment, luck, dice)
    }

    fn cut(&self, moment: usize, luck: SurvivalRate, dice: &mut SeededRandom) -> Image {
        let folders = self.folders(moment, luck, dice);
        let mut image = Image::default();
        let mut open = vec![(ROOT, String::new())];
        while let Some((folder, path)) = open.pop() {
            for (name, (node, is_folder)) in folders.get(&folder).into_iter().flatten() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                if *is_folder {
                    image.folders.push(path.clone());
                    open.push((*node, path));
                } else {
                    image.files.insert(path, self.content(*node, moment, luck, dice));
                }
            }
        }
        image
    }

    fn op(&self, at: usize) -> Option<(&Op, Option<usize>)> {
        Some((self.recording.ops.get(at)?, *self.safe.get(at)?))
    }

    /// The names in all directories.
    fn folders(
        &self,
        moment: usize,
        luck: SurvivalRate,
        dice: &mut SeededRandom,
    ) -> BTreeMap<NodeId, BTreeMap<String, (NodeId, bool)>> {
        let done: Vec<(&Op, bool)> = self
            .names
            .iter()
            .filter_map(|at| self.op(*at))
            .filter(|(op, _)| op.ended < moment)
            .map(|(op, safe)| (op, safe.is_some_and(|safe| safe < moment)))
            .collect();
        let certain = done.iter().rposition(|(_, safe)| *safe).map_or(0, |at| at + 1);
        let (loose, open) = (dice.chance(50), done.len() - certain);
        let journalled = certain
            + match luck {
                SurvivalRate::Nothing => 0,
                SurvivalRate::Everything => open,
                SurvivalRate::Some(_) => dice.index(open + 1),
            };
        let mut folders: BTreeMap<NodeId, BTreeMap<String, (NodeId, bool)>> = BTreeMap::new();
        let mut kinds: BTreeMap<NodeId, bool> = BTreeMap::new();
        for (at, (op, safe)) in done.into_iter().enumerate() {
            if let Change::Enter { node, is_folder, .. } = &op.change {
                kinds.entry(*node).or_insert(*is_folder);
            }
            let there = safe
                || match (loose, luck) {
                    (false, _) => at < journalled,
                    (true, SurvivalRate::Nothing) => false,
                    (true, SurvivalRate::Everything) => true,
                    (true, SurvivalRate::Some(percent)) => dice.chance(percent),
                };
            if !there {
                continue;
            }
            let kind = |node: &NodeId| kinds.get(node).copied().unwrap_or_default();
            match &op.change {
                Change::Enter { folder, name, node, .. } => {
                    folders.entry(*folder).or_default().insert(name.clone(), (*node, kind(node)));
                }
                Change::Move { from, to, node } => {
                    let old = folders.entry(from.0).or_default();
                    if old.get(&from.1).is_some_and(|(there, _)| there == node) {
                        old.remove(&from.1);
                    }
                    folders.entry(to.0).or_default().insert(to.1.clone(), (*node, kind(node)));
                }
                Change::Leave { folder, name } => {
                    folders.entry(*folder).or_default().remove(name);
                }
                _ => {}
            }
        }
        folders
    }

    /// The bytes of a file.
    fn content(&self, node: NodeId, moment: usize, luck: SurvivalRate, dice: &mut SeededRandom) -> Vec<u8> {
        let (mut bytes, mut longest) = (Vec::new(), 0);
        let changes = self.contents.get(&node).map(Vec::as_slice).unwrap_or_default();
        // Whether the kernel dropped everything that a failed sync covered.
        let drops = dice.chance(70) && !matches!(luck, SurvivalRate::Everything);
        let begun: Vec<_> = changes
            .iter()
            .filter_map(|at| Some((self.op(*at)?, self.gone.get(*at).copied().flatten())))
            .filter(|((op, _), _)| op.begun < moment)
            .collect();
        let count = begun.len();
        for (at, ((op, safe), gone)) in begun.into_iter().enumerate() {
            let fate = match (safe, gone) {
                (Some(safe), _) if safe < moment => WriteOutcome::Present,
                (_, Some(gone)) if gone < moment && drops => WriteOutcome::Lost,
                _ => luck.fate(dice),
            };
            match (&op.change, fate) {
                (Change::Truncate { length, .. }, WriteOutcome::Present) => {
                    let length = usize::try_from(*length).unwrap_or(usize::MAX);
                    bytes.resize(length, 0);
                    longest = length;
                }
                (Change::Write { offset, bytes: new, .. }, fate) => {
                    let parts = match fate {
                        WriteOutcome::Present => vec![(*offset, new.as_slice())],
                        WriteOutcome::Lost => Vec::new(),
                        WriteOutcome::Torn => torn(*offset, new, at + 1 == count, dice),
                    };
                    parts.into_iter().for_each(|(offset, part)| write(&mut bytes, offset, part));
                    longest = longest.max(usize::try_from(*offset).unwrap_or(usize::MAX) + new.len());
                }
                _ => {}
            }
        }
        if longest > bytes.len() && dice.chance(50) {
            bytes.resize(longest, 0);
        }
        bytes
    }
}

/// The parts of a write that are present: the beginning, or any sectors.
fn torn<'a>(offset: u64, bytes: &'a [u8], last: bool, dice: &mut SeededRandom) -> Vec<(u64, &'a [u8])> {
    if last && dice.chance(50) {
        return vec![(offset, bytes.get(..dice.index(bytes.len() + 1)).unwrap_or_default())];
    }
    let (mut parts, mut rest, mut at) = (Vec::new(), bytes, offset);
    while !rest.is_empty() {
        let room = usize::try_from(SECTOR - at % SECTOR).unwrap_or(rest.len());
        let (sector, behind) = rest.split_at(room.min(rest.len()));
        parts.push((at, sector));
        at += sector.len() as u64;
        rest = behind;
    }
    if dice.chance(50) {
        parts.truncate(dice.index(parts.len()));
    } else {
        parts.retain(|_| dice.chance(50));
    }
    parts
}

fn write(file: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = start.saturating_add(bytes.len());
    if bytes.is_empty() {
        return;
    }
    if file.len() < end {
        file.resize(end, 0);
    }
    if let Some(place) = file.get_mut(start..end) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
