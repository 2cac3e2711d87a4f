use super::super::line::{Batch, write};
use super::*;
use crate::record::{Chain, SealedRecord};
use lariat_core::id::SessionId;

/// Returns a few bytes at a time, like a slow disk.
struct SlowReader<'a>(&'a [u8], usize);

impl Read for SlowReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(buffer.len()).min(self.0.len());
        let (now, later) = self.0.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

fn journal(texts: &[&str]) -> Vec<u8> {
    let mut bytes = Header::new(SessionId::from("s"), None).line();
    let mut chain = Chain::start(&SessionId::from("s"));
    for (seq, text) in texts.iter().enumerate() {
        let body = format!("{{\"v\":1,\"seq\":{seq},\"text\":\"{text}\"}}").into_bytes();
        let record = SealedRecord::new(seq as u64, chain, body);
        chain = record.chain;
        write(&mut bytes, &record, Batch::Begins);
    }
    bytes
}

fn pieces(source: impl Read) -> Vec<ScannedPiece> {
    let mut pieces = JournalScanner::new(source, 0);
    std::iter::from_fn(|| pieces.next().unwrap()).collect()
}

fn shape(bytes: &[u8]) -> String {
    let letter = |piece: &ScannedPiece| match piece.kind {
        PieceKind::Header(..) => 'h',
        PieceKind::Record(_, Newline::Present) => 'r',
        PieceKind::Record(_, Newline::Missing) => 'f',
        PieceKind::Gap(Gap::Garbage) => 'g',
        PieceKind::Gap(Gap::Broken) => 'b',
        PieceKind::Gap(Gap::Cut) => 'c',
    };
    pieces(bytes).iter().map(letter).collect()
}

#[test]
fn pieces_cover_every_byte_for_any_read_size() {
    let mut bytes = journal(&["one", "two", "three"]);
    bytes.splice(200..210, [0; 40]);
    bytes.extend_from_slice(&journal(&["again"])[..120]);
    let whole = pieces(bytes.as_slice());
    let mut end = 0;
    for piece in &whole {
        assert_eq!(piece.offset, end);
        end = piece.end();
    }
    assert_eq!(end, bytes.len() as u64);
    for drop in [1, 2, 7, 58, 100] {
        assert_eq!(pieces(SlowReader(&bytes, drop)), whole, "{drop} bytes at a time");
    }
}

#[test]
fn finds_a_record_after_any_garbage() {
    let whole = journal(&["one", "two"]);
    assert_eq!(shape(&whole), "hrr");
    let second = whole.len() - journal(&["one"]).len();
    let (first, second) = whole.split_at(whole.len() - second);
    for (between, expected) in [
        (&b"\n\n"[..], "hrgr"),
        (&[0; 4096], "hrgr"),
        (b"\xFF\xC3\x28{\"#\":\"", "hrggr"),
        (b"{\"#\":\"0000000f 00000000 00000000000000000000000000000000\",", "hrbr"),
        (b"{\"#\":\"04000000 00000000 00000000000000000000000000000000\",", "hrbr"),
        (b"{\"lariat\":1,\"session\":\"x", "hrgr"),
    ] {
        let bytes = [first, between, second].concat();
        assert_eq!(shape(&bytes), expected, "{}", String::from_utf8_lossy(between));
    }
    let fused = [first.strip_suffix(b"\n").unwrap(), second].concat();
    assert_eq!(shape(&fused), "hfr");
    let torn_then_written = [&first[..first.len() - 20], second].concat();
    assert_eq!(shape(&torn_then_written), "hbr");
}

#[test]
fn reports_a_file_that_ends_inside_a_record() {
    let whole = journal(&["one", "two"]);
    let first = journal(&["one"]).len();
    for cut in first..whole.len() {
        let expected = match cut {
            _ if cut == first => "hr",
            _ if cut == whole.len() - 1 => "hrf",
            _ => "hrc",
        };
        assert_eq!(shape(&whole[..cut]), expected, "cut at {cut}");
    }
}

#[test]
fn forged_length_does_not_read_the_whole_file_into_memory() {
    struct Zeros(u64);
    impl Read for Zeros {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < 100 * 1024 * 1024, "all of it was read into memory");
            buffer.fill(b' ');
            Ok(buffer.len())
        }
    }
    // Longer than any record may be, so the scanner ignores it.
    let seal = b"{\"#\":\"ffffffff 00000000 00000000000000000000000000000000\",";
    let mut pieces = JournalScanner::new(seal.chain(Zeros(0).take(3_000_000)), 0);
    let piece = pieces.next().unwrap().unwrap();
    assert_eq!((piece.length, piece.kind), (3_000_058, PieceKind::Gap(Gap::Garbage)));
    assert!(pieces.window.capacity() < 2_000_000, "{}", pieces.window.capacity());
}
