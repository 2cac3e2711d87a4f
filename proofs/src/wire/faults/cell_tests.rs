use super::*;

fn pieces() -> Vec<String> {
    let text: Vec<char> = arguments().to_string().chars().collect();
    text.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

fn parses(pieces: &[String]) -> bool {
    serde_json::from_str::<Value>(&pieces.concat()).is_ok()
}

#[test]
fn no_lost_doubled_or_swapped_piece_of_the_arguments_is_json() {
    let whole = pieces();
    assert!(whole.len() > 3 && parses(&whole));
    for at in 0..whole.len() {
        let mut lost = whole.clone();
        lost.remove(at);
        let mut doubled = whole.clone();
        doubled.insert(at, whole[at].clone());
        assert!(!parses(&lost) && !parses(&doubled), "piece {at}");
        assert!(!parses(&whole[..at]), "cut at {at}");
        if at > 0 {
            let mut swapped = whole.clone();
            swapped.swap(at - 1, at);
            assert!(!parses(&swapped), "pieces {at} and before");
        }
    }
}

#[test]
fn every_stream_has_seven_distinct_positions() {
    for wire in Wire::ALL {
        let mut places: Vec<_> = Position::ALL
            .map(|position| {
                let (head, _) = Cell::new(wire, position).cut();
                let bytes = |beat: &BodyStep| if let BodyStep::Bytes(bytes) = beat { bytes.len() } else { 0 };
                head.iter().map(bytes).sum::<usize>()
            })
            .to_vec();
        let sorted = places.clone();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places, sorted, "{wire}");
    }
}

#[test]
fn the_stop_reason_is_in_the_first_of_the_finishing_frames() {
    for wire in Wire::ALL {
        let cell = Cell::new(wire, Position::End);
        let at = cell.frames().len() - finish_frames(wire);
        let words = [
            "stop_reason\":\"tool_use",
            "finish_reason\":\"tool",
            "response.completed",
            "finishReason",
            "stopReason",
        ];
        let says = |frame: &[u8]| {
            let text = String::from_utf8_lossy(frame);
            words.iter().any(|word| text.contains(word))
        };
        assert!(says(&cell.frames()[at]), "{wire}");
        assert!(cell.frames()[..at].iter().all(|frame| !says(frame)), "{wire}");
    }
}
