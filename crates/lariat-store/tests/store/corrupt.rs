//! Damages journal files at random: intact events must come back, and all damage must be reported.
//!
//! [`mutate`] makes a mutant of a journal from a seed, and [`check`] checks what the store's functions make of it. The
//! expected result is computed without them: a record is intact if its line, as written, occurs in the mutant. Each failure
//! prints the seed; `LARIAT_CORRUPT_SEED` runs one seed alone, `LARIAT_CORRUPT_MUTANTS` sets the number of mutants.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a check that fails panics")]

use std::io::Cursor;

use lariat_core::archive::{DamageKind, VerificationReport};
use lariat_core::event::{AgentEvent, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, SessionId};
use lariat_core::time::Timestamp;
use lariat_store::jsonl::{ExpectedJournal, Header, examine, rebuild};
use lariat_store::record::{Chain, SealedRecord};
use lariat_test::SeededRandom;
use memchr::memmem;

/// Number of mutants per run in CI: about ten seconds unoptimised.
const MUTANTS: u64 = 20_000;

/// A journal and its content.
struct Original {
    bytes: Vec<u8>,
    expected: ExpectedJournal,
    /// Finders for each record's line, without its newline.
    records: Vec<memmem::Finder<'static>>,
    /// The body of each event.
    bodies: Vec<Vec<u8>>,
}

/// Escapes seal openings inside an event, and the last digit of complete seals.
fn hide(body: &str) -> String {
    let mut parts = body.split("{\"#\":\"");
    let mut hidden = parts.next().unwrap().to_owned();
    for part in parts {
        let is_seal =
            |part: &&str| part.bytes().take(50).all(|byte| byte == b' ' || byte.is_ascii_hexdigit());
        let seal = Some(part).filter(|part| part.get(50..52) == Some("\",")).filter(is_seal);
        hidden += "{\"\\u0023\":\"";
        hidden += &seal.map_or(part.to_owned(), |seal| {
            format!("{}\\u{:04x}{}", &seal[..49], seal.as_bytes()[49], &seal[50..])
        });
    }
    hidden
}

/// Seals lines according to the format, independently of the code under test.
fn line(record: &SealedRecord, continues: bool) -> Vec<u8> {
    let body = String::from_utf8(record.body.clone()).unwrap();
    let body = hide(&body);
    let check = if continues { !record.check } else { record.check };
    format!("{{\"#\":\"{:08x} {check:08x} {}\",{}", body.len(), record.chain, &body[1..]).into_bytes()
}

fn event(seq: u64, dice: &mut SeededRandom) -> Vec<u8> {
    let length = [3, 20, 60, 200, 700][dice.index(5)];
    let text: String =
        (0..length).map(|_| ['a', '"', '\\', '{', '#', 'ß', '\n', '0', '}', ','][dice.index(10)]).collect();
    let event = match dice.below(4) {
        0 => {
            // A record inside a record, as a hostile tool may return.
            let inner = SealedRecord::new(
                seq,
                Chain::start(&SessionId::from("s")),
                format!("{{\"seq\":{seq}}}").into_bytes(),
            );
            let inner = serde_json::from_slice::<serde_json::Value>(&line(&inner, false)).unwrap();
            let fields = serde_json::json!({"type": "FromTheFuture", "list": [inner, {"#": text}]});
            AgentEvent::Unknown(fields.as_object().unwrap().clone())
        }
        _ => AgentEvent::Checkpoint { label: text, message_id: None },
    };
    let id = EventId::new(uuid::Uuid::from_u64_pair(seq, dice.bits()));
    let timestamp = Timestamp::from_millis(1_000 + seq);
    let record = EventRecord { v: FORMAT_VERSION, seq, id, timestamp, loop_id: None, event };
    serde_json::to_vec(&record).unwrap()
}

fn original(seed: u64) -> Original {
    let mut dice = SeededRandom::new(seed).fork("original");
    let header = Header::new(SessionId::from("s"), None);
    let mut chain = header.chain();
    let mut lines = vec![header.line().strip_suffix(b"\n").unwrap().to_vec()];
    let mut bodies = Vec::new();
    for seq in 0..2 + dice.below(24) {
        let body = event(seq, &mut dice);
        let record = SealedRecord::new(seq, chain, body.clone());
        chain = record.chain;
        lines.push(line(&record, dice.chance(50)));
        bodies.push(body);
    }
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    let records = lines.iter().skip(1).map(|line| memmem::Finder::new(line).into_owned()).collect();
    Original { bytes, expected: ExpectedJournal::new(header, bodies.len() as u64), records, bodies }
}

/// Returns a mutant of a journal, and a description of the changes.
fn mutate(bytes: &[u8], seed: u64) -> (Vec<u8>, String) {
    let mut dice = SeededRandom::new(seed).fork("mutant");
    let mut mutant = bytes.to_vec();
    let mut done = Vec::new();
    for _ in 0..1 + dice.below(3) {
        done.push(mutate_once(&mut mutant, &mut dice));
    }
    (mutant, done.join(", "))
}

fn mutate_once(bytes: &mut Vec<u8>, dice: &mut SeededRandom) -> String {
    let at = dice.index(bytes.len().max(1)).min(bytes.len());
    let most = [4, 60, 600, 4096][dice.index(4)];
    let length = 1 + dice.index(most);
    let end = (at + length).min(bytes.len());
    let newlines: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    match dice.below(13) {
        0 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        1 | 2 if at < bytes.len() => {
            let bit = dice.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of {at} flipped")
        }
        3 => {
            bytes[at..end].fill(0);
            format!("zeros from {at} to {end}")
        }
        4 if !newlines.is_empty() => {
            let newline = newlines[dice.index(newlines.len())];
            bytes.remove(newline);
            format!("newline at {newline} removed")
        }
        5 => {
            bytes.insert(at, b'\n');
            format!("newline at {at} inserted")
        }
        6 => {
            let bad = [&[0xFF, 0xFE][..], &[0xC3], &[0xED, 0xA0, 0x80], &[0x80; 40]][dice.index(4)];
            bytes.splice(at..at, bad.iter().copied());
            format!("bad UTF-8 at {at}")
        }
        7 => {
            let copy = bytes[at..end].to_vec();
            let to = dice.index(bytes.len() + 1);
            bytes.splice(to..to, copy);
            format!("{at} to {end} again at {to}")
        }
        8 => {
            bytes.drain(at..end);
            format!("{at} to {end} removed")
        }
        9 if bytes.len() > 8 => {
            // Blocks of a disk in the wrong order.
            let block = [16, 64, 512][dice.index(3)].min(bytes.len() / 2);
            let blocks = bytes.len() / block;
            let (one, other) = (dice.index(blocks) * block, dice.index(blocks) * block);
            let (first, second) = (bytes[one..one + block].to_vec(), bytes[other..other + block].to_vec());
            bytes[one..one + block].copy_from_slice(&second);
            bytes[other..other + block].copy_from_slice(&first);
            format!("blocks of {block} at {one} and {other} swapped")
        }
        10 => by_lines(bytes, dice, "line doubled", |lines, dice| {
            let line = lines[dice.index(lines.len())].clone();
            lines.insert(dice.index(lines.len() + 1), line);
        }),
        11 => by_lines(bytes, dice, "lines swapped", |lines, dice| {
            let (one, other) = (dice.index(lines.len()), dice.index(lines.len()));
            lines.swap(one, other);
        }),
        12 => by_lines(bytes, dice, "line removed", |lines, dice| {
            lines.remove(dice.index(lines.len()));
        }),
        _ => {
            let garbage: Vec<u8> = (0..length).map(|_| dice.bits() as u8).collect();
            bytes.splice(at..at, garbage);
            format!("{length} bytes of noise at {at}")
        }
    }
}

fn by_lines(
    bytes: &mut Vec<u8>,
    dice: &mut SeededRandom,
    what: &str,
    change: impl FnOnce(&mut Vec<Vec<u8>>, &mut SeededRandom),
) -> String {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if !lines.is_empty() {
        change(&mut lines, dice);
    }
    *bytes = lines.concat();
    what.to_owned()
}

/// Checks the result for a mutant. `Err` describes what the store did wrong.
fn check(original: &Original, mutant: &[u8]) -> Result<(), String> {
    let verdict = examine(mutant, &original.expected).map_err(|error| error.to_string())?;
    if mutant == original.bytes {
        return if verdict.is_sound() { Ok(()) } else { Err(format!("reported as damaged: {verdict:?}")) };
    }
    if verdict.is_sound() {
        return Err("damage was not reported".to_owned());
    }
    let intact: Vec<bool> = original.records.iter().map(|line| line.find(mutant).is_some()).collect();
    let count = intact.iter().filter(|intact| **intact).count() as u64;
    if verdict.intact < count {
        return Err(format!("{count} records are intact, {} were found", verdict.intact));
    }
    reported(&verdict, &intact)?;
    let mut rebuilt = Vec::new();
    let found =
        rebuild(Cursor::new(mutant), &original.expected, &mut rebuilt).map_err(|error| error.to_string())?;
    if found != verdict {
        return Err(format!("the rebuild found {found:?}, the check {verdict:?}"));
    }
    let after = examine(rebuilt.as_slice(), &original.expected).map_err(|error| error.to_string())?;
    if !after.is_sound() {
        return Err(format!("the rebuilt journal is not sound: {after:?}"));
    }
    recovered(original, &intact, &rebuilt)
}

/// Checks that the first of several consecutive lost events is reported with its position.
fn reported(verdict: &VerificationReport, intact: &[bool]) -> Result<(), String> {
    for (seq, is_intact) in intact.iter().enumerate() {
        let first = !is_intact && (seq == 0 || intact[seq - 1]);
        let named = verdict.damage.iter().any(|damage| damage.seq == Some(seq as u64));
        if first && !named {
            return Err(format!("the loss of event {seq} was not reported: {verdict:?}"));
        }
    }
    let placed = verdict.damage.iter().all(|damage| damage.offset.is_some());
    if placed { Ok(()) } else { Err(format!("damage without an offset: {verdict:?}")) }
}

/// Checks that the rebuilt journal has every intact event at its position and a lost event at every other position.
fn recovered(original: &Original, intact: &[bool], rebuilt: &[u8]) -> Result<(), String> {
    let lines: Vec<&[u8]> = rebuilt.split(|byte| *byte == b'\n').skip(1).collect();
    for (seq, (body, is_intact)) in original.bodies.iter().zip(intact).enumerate() {
        let line = lines.get(seq).ok_or_else(|| format!("event {seq} is missing"))?;
        let written = String::from_utf8_lossy(line.get(58..).unwrap_or_default());
        let written = format!("{{{written}");
        let lost = format!("{{\"v\":1,\"seq\":{seq},");
        let lost = written.starts_with(&lost) && written.contains("\"type\":\"EventLost\"");
        let same = written == hide(std::str::from_utf8(body).unwrap());
        if lost == *is_intact || same != *is_intact {
            return Err(format!("event {seq} is intact: {is_intact}, but came back as {written}"));
        }
    }
    Ok(())
}

/// Number of mutants made from one journal.
const LITTER: u64 = 50;

fn judge(original: &Original, seed: u64) {
    let (mutant, done) = mutate(&original.bytes, seed);
    if let Err(wrong) = check(original, &mutant) {
        panic!("LARIAT_CORRUPT_SEED={seed}: {done}: {wrong}");
    }
}

#[test]
fn recovers_intact_events_and_reports_all_damage_of_random_mutants() {
    #[expect(clippy::disallowed_methods, reason = "environment variables select longer runs, or one seed")]
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = number("LARIAT_CORRUPT_SEED") {
        return judge(&original(seed / LITTER), seed);
    }
    let litters = number("LARIAT_CORRUPT_MUTANTS").unwrap_or(MUTANTS).div_ceil(LITTER);
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let run = |litter: u64| {
        let original = original(litter);
        (litter * LITTER..(litter + 1) * LITTER).for_each(|seed| judge(&original, seed));
    };
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            scope.spawn(move || (thread..litters).step_by(threads).for_each(run));
        }
    });
    // The first that is wrong panics.
    println!("{} damaged session files, 0 wrong", litters * LITTER);
}

#[test]
fn file_cut_at_any_byte_loses_only_the_cut_events() {
    let original = (0..).map(original).find(|original| original.bytes.len() < 4_000).unwrap();
    for at in 0..original.bytes.len() {
        if let Err(wrong) = check(&original, &original.bytes[..at]) {
            panic!("cut at {at}: {wrong}");
        }
    }
}

#[test]
fn any_flipped_bit_is_reported_and_loses_at_most_one_event() {
    let original = (0..).map(original).find(|original| original.bytes.len() < 2_000).unwrap();
    assert!(original.bodies.len() > 3);
    for bit in 0..original.bytes.len() * 8 {
        let mut mutant = original.bytes.clone();
        mutant[bit / 8] ^= 1 << (bit % 8);
        if let Err(wrong) = check(&original, &mutant) {
            panic!("bit {bit}: {wrong}");
        }
        let verdict = examine(mutant.as_slice(), &original.expected).unwrap();
        assert!(verdict.intact + 1 >= original.bodies.len() as u64, "bit {bit}: {verdict:?}");
    }
}

#[test]
fn skips_a_line_of_a_hundred_megabytes() {
    let original = original(11);
    let middle = original.bytes.len() / 2;
    let mut mutant = original.bytes[..middle].to_vec();
    mutant.resize(middle + 100_000_000, b'x');
    mutant.extend_from_slice(&original.bytes[middle..]);
    check(&original, &mutant).unwrap();
    let verdict = examine(mutant.as_slice(), &original.expected).unwrap();
    assert!(verdict.damage.iter().any(|damage| damage.kind != DamageKind::Missing));
}
