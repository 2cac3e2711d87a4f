#![expect(clippy::disallowed_methods, reason = "inspects the files from outside, and from another process")]

use std::os::unix::fs::PermissionsExt as _;

use lariat_core::usage::Usage;

use super::*;

const TODAY: Day = Day(20_772);
/// For a child process: the number of entries to add.
const CALLS: &str = "LARIAT_TEST_SPENDING_CALLS";
const FOLDER: &str = "LARIAT_TEST_SPENDING_FOLDER";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("lariat-spending-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn call(tokens: u64) -> SpentAmounts {
    SpentAmounts::reply(&Usage::new(tokens, 0))
}

#[test]
fn spending_survives_its_writer() {
    let folder = folder("outlives");
    let log = SpendingFiles::open(&folder).unwrap();
    assert_eq!(log.sum(TODAY).unwrap(), SpentAmounts::default(), "the log is empty");
    log.append(TODAY, call(10)).unwrap();
    log.append(Day(TODAY.0 + 1), call(7)).unwrap();
    drop(log);
    let (one, two) = (SpendingFiles::open(&folder).unwrap(), SpendingFiles::open(&folder).unwrap());
    one.append(TODAY, call(20)).unwrap();
    two.append(TODAY, call(30)).unwrap();
    for log in [one, two] {
        let total = log.sum(TODAY).unwrap();
        assert_eq!((total.tokens, total.turns), (60, 3));
        assert_eq!(log.sum(TODAY).unwrap(), total, "lines are counted once");
        assert_eq!(log.sum(Day(TODAY.0 + 1)).unwrap().tokens, 7);
        assert_eq!(log.sum(TODAY).unwrap(), total);
    }
    let path = folder.join("2026-11-15.jsonl");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn torn_line_is_skipped_and_damages_no_other() {
    let folder = folder("torn");
    let log = SpendingFiles::open(&folder).unwrap();
    log.append(TODAY, call(10)).unwrap();
    let path = log.path(TODAY);
    let whole = std::fs::read_to_string(&path).unwrap();
    for torn in 1..whole.trim_end().len() {
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(whole.get(..torn).unwrap().as_bytes()).unwrap();
        assert_eq!(log.sum(TODAY).unwrap().tokens, 10 * torn as u64, "torn after {torn} bytes");
        log.append(TODAY, call(10)).unwrap();
    }
    let all = SpendingFiles::open(&folder).unwrap().sum(TODAY).unwrap();
    assert_eq!(all, log.sum(TODAY).unwrap());
    assert_eq!(all.tokens, 10 * whole.trim_end().len() as u64);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Not a test by itself: the child processes of the next test run it.
#[test]
fn child_process_that_spends() {
    let (Ok(calls), Ok(folder)) = (std::env::var(CALLS), std::env::var(FOLDER)) else { return };
    let log = SpendingFiles::open(folder).unwrap();
    (0..calls.parse::<u64>().unwrap()).for_each(|_| log.append(TODAY, call(3)).unwrap());
}

#[test]
fn concurrent_processes_lose_no_spending() {
    let folder = folder("processes");
    let name = "local::spending::tests::child_process_that_spends";
    let begin = || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--test-threads", "1"])
            .env(CALLS, "500")
            .env(FOLDER, &folder)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let processes: Vec<_> = (0..3).map(|_| begin()).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let total = SpendingFiles::open(&folder).unwrap().sum(TODAY).unwrap();
    assert_eq!((total.turns, total.tokens), (1_500, 4_500));
    std::fs::remove_dir_all(&folder).unwrap();
}
