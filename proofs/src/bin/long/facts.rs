//! The schedule of a long run: what happens in each turn, and the facts that must not get lost.
//!
//! Pure, because the model and the agent's process compute it independently. A fact is a unique line in a
//! message of the user, in a file or in the output of a command.

/// Lines of a page: about 20 KB.
const LINES: u64 = 230;
/// Turns between messages of the user.
pub(crate) const STEER_EVERY: u64 = 110;
/// Number of turns that plant facts in files and outputs.
const FACTS: u64 = 30;

/// What the model does in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Reads a page.
    Read,
    /// Runs a command that prints a page.
    Command,
    /// Writes a file.
    Write,
    /// Updates the todo list.
    Todo,
    /// Recalls an early fact.
    Probe,
}

/// What the model does in turn `turn` of its work.
pub(crate) const fn act(turn: u64) -> Act {
    match turn {
        _ if turn % 25 == 24 => Act::Probe,
        _ if turn % 100 == 50 => Act::Todo,
        _ if turn % 11 == 5 => Act::Write,
        _ if turn % 7 == 3 => Act::Command,
        _ => Act::Read,
    }
}

/// The turns, out of `turns`, that plant a fact in a file or an output.
pub(crate) fn planting(turns: u64) -> Vec<u64> {
    let first = |from: u64| (from..turns).find(|turn| matches!(act(*turn), Act::Read | Act::Command));
    (0..FACTS).filter_map(|part| first(part * turns / FACTS + part % 5)).collect()
}

/// The fact of a turn.
pub(crate) fn fact(turn: u64) -> String {
    format!("The number of item {turn} is {:016x}.", scrambled(turn))
}

/// What the user says at this point.
pub(crate) fn instruction(number: u64) -> String {
    format!("Keep in mind: the code of door {number} is {:016x}.", scrambled(number ^ 0x5eed))
}

/// The content of a page, with its fact if the turn plants one.
pub(crate) fn page(turn: u64, plants: bool) -> String {
    let place = scrambled(turn ^ 0xface) % LINES;
    let mut text = String::new();
    for line in 0..LINES {
        if plants && line == place {
            text.push_str(&fact(turn));
        } else {
            let word = scrambled(turn.wrapping_mul(1_000) + line);
            text.push_str(&format!("fn row_{turn}_{line}() -> u64 {{ let value = {word}; parts(value).sum() }} // checked, see notes"));
        }
        text.push('\n');
    }
    text
}

/// SplitMix64: maps every number to a different one.
const fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
