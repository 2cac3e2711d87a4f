use super::*;

#[test]
fn directory_name_replaces_everything_but_letters_and_digits() {
    assert_eq!(project_dir_name("/srv/me/my_app.v2"), "-srv-me-my-app-v2");
    assert_eq!(project_dir_name("/é🦀"), "----");
}

#[test]
fn cuts_long_directory_names_and_appends_a_hash() {
    let dir = project_dir_name(&"/abcdefghi".repeat(30));
    assert_eq!(dir.len(), 200 + 1 + dir.rsplit('-').next().unwrap().len());
    assert_ne!(dir, project_dir_name(&"/abcdefghi".repeat(31)));
    // As JavaScript computes it: h = h * 31 + c, 32 bits, absolute, base 36.
    assert_eq!(hash(&"hello".encode_utf16().collect::<Vec<_>>()), "1n1e4y");
    assert_eq!(hash(&[]), "0");
}

#[test]
fn maps_any_session_id_to_a_stable_uuid() {
    let strange = SessionId::from("../../etc/passwd\0");
    assert_eq!(session_uuid(&strange), session_uuid(&strange));
    assert!(!file_name("/", &strange).contains(".."));
}
