use super::*;

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

#[test]
fn file_belongs_to_one_session_during_a_tool_call() {
    let claims = Claims::new(Duration::ZERO);
    let held = claims.take("a", paths(&["/w/x", "/w/y"])).unwrap();
    let taken = claims.take("b", paths(&["/w/z", "/w/y"])).unwrap_err();
    assert_eq!((taken.path.as_path(), taken.session.as_str()), (Path::new("/w/y"), "a"));
    // All or nothing: `z` was not claimed.
    assert_eq!(claims.holder(Path::new("/w/z")), None);
    let again = claims.take("a", paths(&["/w/y"])).unwrap();
    drop(held);
    claims.take("b", paths(&["/w/y"])).unwrap_err();
    drop(again);
    claims.take("b", paths(&["/w/y"])).unwrap();
}

#[test]
fn file_stays_with_its_session_until_the_lease_ends_or_the_session_is_released() {
    let claims = Claims::new(Duration::from_secs(3_600));
    drop(claims.take("a", paths(&["/w/x"])).unwrap());
    assert_eq!(claims.holder(Path::new("/w/x")).as_deref(), Some("a"));
    let words = claims.take("b", paths(&["/w/x"])).unwrap_err().to_string();
    assert!(words.starts_with("`/w/x` is being changed by another agent (session a, 0 s ago)."), "{words}");
    claims.release("a");
    claims.take("b", paths(&["/w/x"])).unwrap();
}
