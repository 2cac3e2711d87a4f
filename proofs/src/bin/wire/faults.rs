//! The fault matrix: every fault at every position in every protocol, printed as a table.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lariat_proofs::server::Wire;
use lariat_proofs::wire::faults::{CellResult, Fault, Group, Outcome, Position, faults, play};

/// Wrong cells printed in full; the others are only counted.
const TOLD: usize = 20;
/// Minimum number of faults in a full run.
const FULL_RUN: usize = 60;

type Cell = (&'static Fault, Wire, Position);

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let (mut name, mut wires) = (None, Wire::ALL.to_vec());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let value = options.next().ok_or_else(|| format!("{option} needs a value"))?;
        match *option {
            "--fault" => name = Some(*value),
            "--protocol" => wires.retain(|wire| value.split(',').any(|name| name == wire.name())),
            _ => return Err(format!("unknown argument `{option}`")),
        }
    }
    let chosen: Vec<&Fault> =
        faults().filter(|fault| name.is_none_or(|name| fault.name.contains(name))).collect();
    if chosen.is_empty() || wires.is_empty() {
        return Err("unknown fault or protocol".to_owned());
    }
    let started = Instant::now();
    let mut cells: Vec<Cell> = Vec::new();
    for fault in &chosen {
        for wire in &wires {
            cells.extend(Position::ALL.map(|position| (*fault, *wire, position)));
        }
    }
    let results: Vec<Mutex<Option<Result<CellResult, String>>>> =
        cells.iter().map(|_| Mutex::new(None)).collect();
    let work: Vec<(Cell, &Mutex<_>)> = cells.iter().copied().zip(&results).collect();
    crate::parallel(&work, |((fault, wire, position), result)| {
        *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(play(fault, *wire, *position));
        true
    });
    let results =
        results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    let results: Vec<Result<CellResult, String>> =
        results.map(|result| result.unwrap_or_else(|| Err("was not run".to_owned()))).collect();
    print_table(&chosen, &wires, &results);
    let ok = print_totals(chosen.len(), &wires, &results);
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(ok && (name.is_some() || chosen.len() >= FULL_RUN))
}

fn print_table(chosen: &[&Fault], wires: &[Wire], results: &[Result<CellResult, String>]) {
    let mut rows = results.chunks(Position::ALL.len() * wires.len());
    for group in Group::ALL {
        let members: Vec<_> = chosen.iter().filter(|fault| fault.group == group).collect();
        if members.is_empty() {
            continue;
        }
        println!("\n{}", group.title());
        print!("{:42}", "");
        wires.iter().for_each(|wire| print!(" {:10}", wire.name()));
        println!();
        for fault in members {
            print!("{:42}", fault.name);
            for cells in rows.next().unwrap_or_default().chunks(Position::ALL.len()) {
                let letter = |cell: &Result<CellResult, String>| {
                    cell.as_ref().map_or('!', |passed| passed.outcome.letter())
                };
                print!(" {:10}", cells.iter().map(letter).collect::<String>());
            }
            println!();
        }
    }
    println!("\nOne letter for each of the seven positions. {}; ! wrong.", Outcome::LEGEND);
}

fn print_totals(faults: usize, wires: &[Wire], results: &[Result<CellResult, String>]) -> bool {
    let passed = || results.iter().flatten();
    let count = |wanted: fn(&Outcome) -> bool| passed().filter(|passed| wanted(&passed.outcome)).count();
    let wrong: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    let hangs = wrong.iter().filter(|story| story.contains("HANG")).count();
    let calls: usize = passed().map(|passed| passed.calls).sum();
    let longest = passed().map(|passed| passed.took).max().unwrap_or_default();
    let virtual_time: Duration = passed().map(|passed| passed.took).sum();
    for story in wrong.iter().take(TOLD) {
        println!("\n{story}");
    }
    println!(
        "{faults} faults × {} positions × {} protocols = {} cells: {} completed, {} retried and then completed, \
         {} typed errors, {} wrong, {hangs} hangs",
        Position::ALL.len(),
        wires.len(),
        results.len(),
        count(|outcome| *outcome == Outcome::Completed),
        count(|outcome| *outcome == Outcome::Retried),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        wrong.len(),
    );
    println!(
        "{calls} tool calls ran, each once and with the scripted arguments; longest run {} s, {:.1} hours in total on \
         the virtual clock",
        longest.as_secs(),
        virtual_time.as_secs_f64() / 3600.0
    );
    wrong.is_empty()
}
