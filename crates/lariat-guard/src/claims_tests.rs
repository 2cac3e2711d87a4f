use super::*;

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

#[test]
fn a_file_belongs_to_one_session_while_a_call_is_at_it() {
    let claims = Claims::new(Duration::ZERO);
    let held = claims.take("a", paths(&["/w/x", "/w/y"])).unwrap();
    let taken = claims.take("b", paths(&["/w/z", "/w/y"])).unwrap_err();
    assert_eq!((taken.path.as_path(), taken.session.as_str()), (Path::new("/w/y"), "a"));
    // All or nothing: `z` was not taken.
    assert_eq!(claims.holder(Path::new("/w/z")), None);
    let again = claims.take("a", paths(&["/w/y"])).unwrap();
    drop(held);
    claims.take("b", paths(&["/w/y"])).unwrap_err();
    drop(again);
    claims.take("b", paths(&["/w/y"])).unwrap();
}

#[test]
fn a_file_stays_with_its_session_for_a_while_unless_that_ends() {
    let claims = Claims::new(Duration::from_secs(3_600));
    drop(claims.take("a", paths(&["/w/x"])).unwrap());
    assert_eq!(claims.holder(Path::new("/w/x")).as_deref(), Some("a"));
    let words = claims.take("b", paths(&["/w/x"])).unwrap_err().to_string();
    assert!(words.starts_with("`/w/x` is being changed by another agent (session a, 0 s ago)."), "{words}");
    claims.release("a");
    claims.take("b", paths(&["/w/x"])).unwrap();
}
