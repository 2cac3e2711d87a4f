//! Tests documents made by hand: complete, rejected, and damaged in many ways.
#![expect(clippy::disallowed_methods, reason = "the test measures time to detect hangs")]

use std::io::Write as _;
use std::time::Instant;

use flate2::write::ZlibEncoder;
use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId};

use super::*;

fn context() -> ToolContext {
    let (session, running) = (SessionId::from("s"), LoopId::from("l"));
    ToolContext::new("call".into(), "read_file", session, running, CancellationToken::new())
}

fn text(bytes: Vec<u8>) -> Result<Vec<String>, PdfError> {
    Ok(read(bytes, &(1..=u64::MAX), &context(), |_| false).unwrap()?.pages)
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packing = ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packing.write_all(bytes).unwrap();
    packing.finish().unwrap()
}

fn stream(extra: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("<< {extra} /Length {} >>\nstream\n", body.len());
    [head.as_bytes(), body, b"\nendstream"].concat()
}

/// A document of these objects, the first of which is the catalog, with a table of their offsets.
fn document(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", bytes.len()));
        bytes.extend(format!("{} 0 obj\n", index + 1).as_bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let at = bytes.len();
    bytes.extend(table.as_bytes());
    let size = objects.len() + 1;
    bytes.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{at}\n%%EOF\n").as_bytes(),
    );
    bytes
}

/// A document with one page for each content, and more objects from number 10 on.
fn pages(contents: &[Vec<u8>], more: &[Vec<u8>]) -> Vec<u8> {
    let count = contents.len();
    let kids: String = (0..count).map(|page| format!("{} 0 R ", 10 + more.len() + 2 * page)).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [ {kids}] /Count {count} /MediaBox [0 0 612 792] /Resources 3 0 R >>").into(),
        b"<< /Font << /F1 4 0 R /F2 5 0 R >> /XObject << /X1 10 0 R >> >>".to_vec(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Some /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 8 0 R >>".to_vec(),
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Some /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 600 /FontDescriptor 7 0 R >>".to_vec(),
        b"<< /Type /FontDescriptor /FontName /Some /Flags 4 >>".to_vec(),
        stream("", b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange \
            2 beginbfchar <0001> <4F60> <0002> <597D> endbfchar endcmap end"),
        b"null".to_vec(),
    ];
    objects.extend(more.iter().cloned());
    for (page, content) in contents.iter().enumerate() {
        let number = 11 + more.len() + 2 * page;
        objects.push(format!("<< /Type /Page /Parent 2 0 R /Contents {number} 0 R >>").into());
        objects.push(content.clone());
    }
    document(&objects, "")
}

const HELLO: &[u8] = b"BT /F1 12 Tf 72 720 Td (Hello, ) Tj (world!) Tj 0 -14 Td [(sec) -20 (ond) -400 (line)] TJ 0 -40 Td (after a gap) Tj ET";

fn sample() -> Vec<u8> {
    let form = stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Filter /FlateDecode",
        &packed(b"BT /F1 9 Tf 10 10 Td (in a form) Tj ET"),
    );
    let second = b"q 1 0 0 1 50 500 cm BT /F2 10 Tf 0 0 Td <00010002> Tj ET Q /X1 Do";
    pages(&[stream("", HELLO), stream("/Filter /FlateDecode", &packed(second))], &[form])
}

#[test]
fn extracts_lines_words_forms_and_glyphs() {
    let pages = text(sample()).unwrap();
    assert_eq!(pages, ["Hello, world!\nsecond line\n\nafter a gap\n", "你好\nin a form\n"]);
}

#[test]
fn reads_page_ranges_and_rejects_missing_pages() {
    let read = |first, last| read(sample(), &(first..=last), &context(), |_| false).unwrap();
    let second = read(2, 9).unwrap();
    assert_eq!((second.total, second.pages.len()), (2, 1));
    assert!(second.pages[0].starts_with("你好"));
    assert_eq!(read(3, 3).unwrap_err(), PdfError::NoSuchPage(2));
    for (text, range) in [("3", Some(3..=3)), (" 2-5 ", Some(2..=5)), ("8-", Some(8..=u64::MAX))] {
        assert_eq!(page_range(text), range);
    }
    for text in ["", "0", "5-2", "a", "1,2", "-3", "99999999999999999999"] {
        assert_eq!(page_range(text), None, "{text}");
    }
}

#[test]
fn stops_reading_when_the_caller_has_enough() {
    let reading = read(sample(), &(1..=2), &context(), |_| true).unwrap().unwrap();
    assert_eq!((reading.pages.len(), reading.stopped), (1, Some(PdfStop::Full)));
}

#[test]
fn rejects_encrypted_documents_however_spelled() {
    for name in ["/Encrypt", "/#45ncrypt", "/Encr#79pt"] {
        let objects =
            [b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(), b"<< /Type /Pages /Kids [] /Count 0 >>".to_vec()];
        assert_eq!(text(document(&objects, &format!("{name} 9 0 R"))), Err(PdfError::Encrypted), "{name}");
    }
}

#[test]
fn rejects_decompression_bombs() {
    let zeros = packed(&vec![b' '; 70_000_000]);
    let ascii: Vec<u8> =
        zeros.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).chain(*b">").collect();
    let twice = packed(&zeros);
    let bombs = [
        stream("/Filter /FlateDecode", &zeros),
        stream("/Filter [/ASCIIHexDecode /FlateDecode]", &ascii),
        stream("/Filter [/AHx /Fl#61teDecode]", &ascii),
        stream("/Filter [/FlateDecode /FlateDecode]", &twice),
        stream("/Filter 9 0 R", &twice),
        stream("/Filter /LZWDecode", &vec![0x80; 300_000]),
        // Without the zlib header, which some readers accept.
        stream("/Filter /FlateDecode", &zeros[2..]),
    ];
    for (index, bomb) in bombs.into_iter().enumerate() {
        assert_eq!(text(pages(&[bomb], &[])), Err(PdfError::TooHeavy), "bomb {index}");
    }
}

#[test]
fn recursive_forms_end() {
    let form =
        stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources 3 0 R", &b"/X1 Do ".repeat(20));
    let document = pages(&[stream("", b"/X1 Do /X1 Do"), stream("", HELLO)], &[form]);
    let all = 1..=2;
    let work =
        move |stop: &AtomicBool, tell: &SyncSender<ReaderMessage>| work(document, &(1..=2), stop, tell);
    // The number of operators is limited, so the test does not depend on the speed of the machine.
    let read = read_on_thread(work, &all, Duration::from_secs(300), &context(), |_| false).unwrap().unwrap();
    assert!(
        read.pages[0].contains("too many text operators") && read.pages[1].starts_with("Hello"),
        "{read:?}"
    );
}

#[test]
fn contains_panics_and_hangs_of_parsers() {
    let (all, patience, short) = (1..=9, Duration::from_secs(10), Duration::from_millis(200));
    let panics = |_: &AtomicBool, _: &SyncSender<ReaderMessage>| panic!("planted");
    assert_eq!(
        read_on_thread(panics, &all, patience, &context(), |_| false).unwrap().unwrap_err(),
        PdfError::Damaged
    );
    let half = |_: &AtomicBool, tell: &SyncSender<ReaderMessage>| {
        tell.send(ReaderMessage::Total(9)).unwrap();
        tell.send(ReaderMessage::Page("one".to_owned())).unwrap();
        panic!("planted");
    };
    let reading = read_on_thread(half, &all, patience, &context(), |_| false).unwrap().unwrap();
    assert_eq!((reading.pages.len(), reading.stopped), (1, Some(PdfStop::Damaged)));
    let waits = |stop: &AtomicBool, _: &SyncSender<ReaderMessage>| while !stop.load(Ordering::Relaxed) {};
    assert_eq!(
        read_on_thread(waits, &all, short, &context(), |_| false).unwrap().unwrap_err(),
        PdfError::Late
    );
    let cancelled = context();
    cancelled.cancel.cancel();
    assert!(matches!(
        read_on_thread(waits, &all, patience, &cancelled, |_| false),
        Err(ToolError::Cancelled)
    ));
}

/// The next pseudorandom number (SplitMix64).
fn spread(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// The document with errors that are determined by a seed.
fn mutant(document: &[u8], seed: u64) -> Vec<u8> {
    let mut bytes = document.to_vec();
    let mut state = seed;
    for _ in 0..=spread(&mut state) % 6 {
        let length = bytes.len().max(1);
        let at = spread(&mut state) as usize % length;
        let end = (at + spread(&mut state) as usize % 40).min(bytes.len());
        match spread(&mut state) % 7 {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                let to = spread(&mut state) as usize % length;
                bytes.splice(to..to, copy);
            }
            3 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (seed % 8)),
            4 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = (seed % 256) as u8),
            // Replaces one number by another.
            5 => {
                let digit = bytes.iter().skip(at).position(u8::is_ascii_digit).map(|more| at + more);
                let numbers: [&[u8]; 6] = [b"0", b"-1", b"99999999999", b"4294967296", b"7", b"2147483648"];
                digit
                    .into_iter()
                    .for_each(|at| drop(bytes.splice(at..=at, numbers[seed as usize % 6].iter().copied())));
            }
            _ => {
                let words: [&[u8]; 8] = [b"<<", b">>", b"[", b"R", b"endobj", b"stream\n", b"10 0 R", b"("];
                bytes.splice(at..at, words[seed as usize % 8].iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn mutated_documents_neither_panic_nor_hang() {
    const MUTANTS: u64 = 4_000;
    let (mut read, mut refused) = (0, 0);
    let whole = [
        sample(),
        include_bytes!("../../tests/scenarios/read_pdf_with_object_streams/before/a.pdf").to_vec(),
    ];
    for seed in 0..MUTANTS {
        let document = mutant(&whole[seed as usize % 2], seed);
        let started = Instant::now();
        let outcome = std::panic::catch_unwind(|| text(document));
        let outcome = outcome.unwrap_or_else(|_| panic!("the mutant of seed {seed} caused a panic"));
        assert!(started.elapsed().as_secs() < 5, "the mutant of seed {seed} took {:?}", started.elapsed());
        assert_ne!(outcome, Err(PdfError::Late), "the mutant of seed {seed} hangs");
        if outcome.is_ok() { read += 1 } else { refused += 1 }
    }
    // Both must happen, otherwise the mutants are too similar.
    assert!(read > MUTANTS / 10 && refused > MUTANTS / 50, "{read} read, {refused} refused");
}
