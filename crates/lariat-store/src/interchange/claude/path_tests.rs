use super::*;

#[test]
fn folders_replace_everything_but_letters_and_digits() {
    assert_eq!(project_folder("/srv/me/my_app.v2"), "-srv-me-my-app-v2");
    assert_eq!(project_folder("/é🦀"), "----");
}

#[test]
fn long_folders_are_cut_and_end_in_a_hash() {
    let dir = project_folder(&"/abcdefghi".repeat(30));
    assert_eq!(dir.len(), 200 + 1 + dir.rsplit('-').next().unwrap().len());
    assert_ne!(dir, project_folder(&"/abcdefghi".repeat(31)));
    // As JavaScript computes it: h = h * 31 + c, 32 bits, absolute, base 36.
    assert_eq!(hash(&"hello".encode_utf16().collect::<Vec<_>>()), "1n1e4y");
    assert_eq!(hash(&[]), "0");
}

#[test]
fn any_session_id_becomes_a_uuid_and_stays_it() {
    let strange = SessionId::from("../../etc/passwd\0");
    assert_eq!(session_uuid(&strange), session_uuid(&strange));
    assert!(!file_name("/", &strange).contains(".."));
}
