use super::super::line::{Batch, write};
use super::*;
use crate::record::SealedRecord;
use lariat_core::id::SessionId;

fn header() -> Header {
    Header::new(SessionId::from("s"), None)
}

fn lines(count: u64) -> Vec<Vec<u8>> {
    let mut chain = header().chain();
    let line = |seq: u64| {
        let record = SealedRecord::new(seq, chain, format!("{{\"v\":1,\"seq\":{seq}}}").into_bytes());
        chain = record.chain;
        let mut line = Vec::new();
        write(&mut line, &record, Batch::Begins);
        line
    };
    (0..count).map(line).collect()
}

fn verdict(lines: &[&[u8]], events: u64) -> Vec<(DamageKind, Option<u64>)> {
    let bytes = [&[header().line().as_slice()], lines].concat().concat();
    let verdict = examine(bytes.as_slice(), &ExpectedJournal { header: header(), events }).unwrap();
    verdict.damage.iter().map(|damage| (damage.kind, damage.seq)).collect()
}

#[test]
fn reports_kind_and_position_of_each_damage() {
    let lines = lines(4);
    let [zero, one, two, three] = [&lines[0][..], &lines[1], &lines[2], &lines[3]];
    let mut broken = two.to_vec();
    broken[70] ^= 1;
    use DamageKind::{Chain, Checksum, Garbage, Missing, Torn};
    assert_eq!(verdict(&[zero, one, two, three], 4), []);
    assert_eq!(verdict(&[zero, one, two, three], 6), [(Missing, Some(4))]);
    assert_eq!(verdict(&[zero, one, three], 4), [(Chain, Some(3)), (Missing, Some(2))]);
    assert_eq!(verdict(&[zero, one, &broken, three], 4), [(Checksum, Some(2))]);
    assert_eq!(verdict(&[zero, two, one, three], 4), [(Chain, Some(2)), (Chain, Some(1))]);
    assert_eq!(verdict(&[zero, one, one, two, three], 4), [(Chain, Some(1))]);
    assert_eq!(verdict(&[zero, b"\n", one, two, three], 4), [(Garbage, None)]);
    assert_eq!(verdict(&[zero, one, two, &three[..40]], 3), [(Torn, None)]);
    assert_eq!(verdict(&[zero, one, two, &three[..40]], 4), [(Torn, Some(3))]);
    assert_eq!(verdict(&[zero, one, two, &three[..three.len() - 1]], 4), [(Torn, Some(3))]);
    let fused = [&one[..one.len() - 1], two].concat();
    assert_eq!(verdict(&[zero, &fused, three], 4), [(Garbage, Some(1))]);
}

#[test]
fn detects_a_forged_whole_record() {
    let lines = lines(3);
    let forged = SealedRecord::new(
        1,
        Chain::start(&SessionId::from("elsewhere")),
        b"{\"v\":1,\"seq\":1,\"x\":0}".to_vec(),
    );
    let mut line = Vec::new();
    write(&mut line, &forged, Batch::Begins);
    assert_eq!(
        verdict(&[&lines[0], &line, &lines[2]], 3),
        [(DamageKind::Chain, Some(1)), (DamageKind::Chain, Some(2))]
    );
}

#[test]
fn positions_behave_like_a_set() {
    let mut dice = lariat_test::SeededRandom::new(5);
    for _ in 0..200 {
        let (mut set, mut model) = (Positions::default(), BTreeSet::new());
        for _ in 0..dice.below(30) {
            let start = dice.below(40);
            let end = start + dice.below(6);
            set.add_all(start..end);
            model.extend(start..end);
        }
        assert_eq!(set.count(), model.len() as u64);
        assert_eq!(set.count_between(5, 20), model.range(5..20).count() as u64);
        let holes: Vec<u64> = set.holes(3..45).into_iter().flatten().collect();
        assert_eq!(holes, (3..45).filter(|position| !model.contains(position)).collect::<Vec<_>>());
        assert!((0..50).all(|position| set.contains(position) == model.contains(&position)));
    }
}
