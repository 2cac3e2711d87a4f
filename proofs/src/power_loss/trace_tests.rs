use super::super::recording::{Change, Op, ROOT, Recording};

/// Text as strace prints it with `-xx`.
fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

/// Quotes the texts between `<` and `>`, in hexadecimal.
fn log(lines: &[&str]) -> String {
    let line = |line: &&str| {
        let mut out = String::new();
        for (at, part) in line.split('~').enumerate() {
            if at % 2 == 0 { out.push_str(part) } else { out.push_str(&format!("\"{}\"", hex(part))) }
        }
        out
    };
    lines.iter().map(line).collect::<Vec<String>>().join("\n")
}

fn read(lines: &[&str]) -> Result<Vec<Op>, String> {
    Recording::read("/r", [log(lines).as_str()]).map(|recording| recording.ops)
}

#[test]
fn a_file_is_made_written_synced_and_renamed() {
    let ops = read(&[
        "7 openat(AT_FDCWD, ~/r/.a~, O_RDWR|O_CREAT|O_EXCL, 0666) = 3",
        "7 write(3, ~one~, 3) = 3",
        "7 write(3, ~two~, 3) = 2",
        "7 pwrite64(3, ~x~, 1, 9) = 1",
        "7 fdatasync(3) = 0",
        "7 close(3) = 0",
        "7 rename(~/r/.a~, ~/r/a~) = 0",
        "7 openat(AT_FDCWD, ~/r~, O_RDONLY|O_CLOEXEC) = 3",
        "7 fsync(3) = 0",
        "7 write(1, ~ack 4 id\n~, 9) = 9",
    ])
    .unwrap();
    let changes: Vec<Change> = ops.into_iter().map(|op| op.change).collect();
    let written = |offset, bytes: &[u8]| Change::Write { node: 1, offset, bytes: bytes.to_vec() };
    assert_eq!(
        changes,
        [
            Change::Enter { folder: ROOT, name: ".a".to_owned(), node: 1, is_folder: false },
            written(0, b"one"),
            written(3, b"tw"),
            written(9, b"x"),
            Change::Sync(1),
            Change::Move { from: (ROOT, ".a".to_owned()), to: (ROOT, "a".to_owned()), node: 1 },
            Change::Sync(ROOT),
            Change::Acknowledge { seq: 4, id: "id".to_owned() },
        ]
    );
}

#[test]
fn a_call_that_is_interrupted_lasts_until_it_returns() {
    let ops = read(&[
        "7 openat(AT_FDCWD, ~/r/a~, O_RDWR|O_CREAT, 0666) = 3",
        "7 pwrite64(3, ~one~, 3, 0 <unfinished ...>",
        "8 fdatasync(3 <unfinished ...>",
        "7 <... pwrite64 resumed>) = 3",
        "8 <... fdatasync resumed>) = 0",
    ])
    .unwrap();
    let times: Vec<(usize, usize)> = ops.iter().map(|op| (op.begun, op.ended)).collect();
    assert_eq!(times, [(1, 1), (2, 4), (3, 5)]);
}

#[test]
fn a_descriptor_is_free_for_others_when_its_close_begins() {
    let ops = read(&[
        "7 openat(AT_FDCWD, ~/r/a~, O_RDWR|O_CREAT, 0666) = 3",
        "7 close(3 <unfinished ...>",
        "8 openat(AT_FDCWD, ~/r/b~, O_RDWR|O_CREAT, 0666) = 3",
        "7 <... close resumed>) = 0",
        "8 fsync(3) = 0",
    ])
    .unwrap();
    assert_eq!(ops.last().unwrap().change, Change::Sync(2));
}

#[test]
fn failed_calls_and_other_directories_are_ignored() {
    let ops = read(&[
        "7 mkdir(~/r/x/y~, 0777) = -1 ENOENT (No such file or directory)",
        "7 openat(AT_FDCWD, ~/root~, O_RDWR|O_CREAT, 0666) = 3",
        "7 write(3, ~one~, 3) = 3",
        "7 fsync(3) = 0",
        "7 unlink(~/r/none~) = -1 ENOENT (No such file or directory)",
    ]);
    assert_eq!(ops, Ok(Vec::new()));
}

#[test]
fn unsupported_calls_are_errors() {
    let made = "7 openat(AT_FDCWD, ~/r/a~, O_RDWR|O_CREAT, 0666) = 3";
    for line in [
        "7 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7fe2928e2000",
        "7 fallocate(3, 0, 0, 100) = 0",
        "7 write(3, ~one~..., 100) = 100",
        "7 rename(~/r/a~, ~/b~) = 0",
    ] {
        assert!(read(&[made, line]).is_err(), "{line}");
    }
}
