use super::*;

fn limits(spill: Option<PathBuf>) -> CaptureLimits {
    CaptureLimits { head: 10, tail: 20, spill, spill_limit: 1000 }
}

/// Path of a file that does not exist yet; removed when the test ends.
struct SpillPath(PathBuf);

impl SpillPath {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-capture-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for SpillPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|index| (index % 251) as u8).collect()
}

#[test]
fn short_output_is_complete_and_not_on_disk() {
    let spill = SpillPath::new("fits");
    let mut capture = Capture::new(limits(Some(spill.0.clone())));
    bytes(30).chunks(7).for_each(|chunk| capture.take(chunk));
    let captured = capture.output();
    assert_eq!([captured.head.clone(), captured.tail.clone()].concat(), bytes(30));
    assert_eq!((captured.missing_bytes(), captured.spill.clone()), (0, None));
    assert!(!spill.0.exists());
}

#[test]
fn keeps_both_ends_and_spills_all_output_to_the_file() {
    for chunk in [1, 3, 10, 29, 30, 31, 500] {
        let spill = SpillPath::new(&format!("whole-{chunk}"));
        let mut capture = Capture::new(limits(Some(spill.0.clone())));
        let all = bytes(500);
        all.chunks(chunk).for_each(|chunk| capture.take(chunk));
        let captured = capture.output();
        assert_eq!(captured.head, all[..10]);
        assert_eq!(captured.tail, all[480..]);
        assert_eq!((captured.total, captured.missing_bytes(), captured.spilled), (500, 470, 500));
        assert_eq!(std::fs::read(&spill.0).unwrap(), all, "chunks of {chunk}");
        assert!(captured.text().contains("[… 470 bytes not shown …]"));
    }
}

#[test]
fn spill_file_stops_growing_at_its_limit() {
    let spill = SpillPath::new("limit");
    let mut capture = Capture::new(limits(Some(spill.0.clone())));
    (0..100).for_each(|_| capture.take(&bytes(50)));
    assert_eq!((capture.output().total, capture.output().spilled), (5000, 1000));
    assert_eq!(std::fs::metadata(&spill.0).unwrap().len(), 1000);
    assert!(capture.tail.len() <= 2 * 20 + 50);
}

#[test]
fn never_overwrites_an_existing_spill_file() {
    let spill = SpillPath::new("there");
    std::fs::write(&spill.0, "mine").unwrap();
    let mut capture = Capture::new(limits(Some(spill.0.clone())));
    capture.take(&bytes(500));
    assert_eq!(capture.output().spill, None);
    assert_eq!(std::fs::read(&spill.0).unwrap(), b"mine");
}

#[test]
fn reading_continues_at_the_mark() {
    let mut capture = Capture::new(limits(None));
    let all = bytes(25);
    capture.take(&all);
    assert_eq!(capture.since(0), (all.clone(), false));
    assert_eq!(capture.since(5), (all[5..].to_vec(), false));
    assert_eq!(capture.since(15), (all[15..].to_vec(), false));
    assert_eq!(capture.since(25), (Vec::new(), false));
    capture.take(&bytes(500));
    let (rest, gap) = capture.since(25);
    assert!(gap && rest.len() >= 20);
    assert_eq!(capture.since(525), (Vec::new(), false));
}
