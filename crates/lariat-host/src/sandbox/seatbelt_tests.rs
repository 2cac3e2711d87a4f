use super::*;

#[test]
fn what_is_protected_is_refused_after_what_is_writable_is_allowed() {
    let policy = Policy::workspace(Path::new("/w"), Some(Path::new("/Users/me")));
    let profile = profile(&policy, None);
    let at = |text: &str| profile.find(text).unwrap_or_else(|| panic!("{text} is not in\n{profile}"));
    assert!(at("(deny default)") < at("(allow file-write* (subpath \"/w\"))"));
    assert!(at("(allow file-write* (subpath \"/w\"))") < at("(deny file-write* (subpath \"/w/.git\"))"));
    at("(deny file-read* file-write* (subpath \"/Users/me/.ssh\"))");
    assert!(!profile.contains("(allow network"));
}

#[test]
fn an_allow_list_leaves_only_the_proxy() {
    let policy = Policy::workspace(Path::new("/w"), None).with_network(Network::Only(Vec::new()));
    let profile = profile(&policy, Some(3128));
    assert!(profile.contains("(allow network-outbound (remote ip \"localhost:3128\"))"));
    assert!(!profile.contains("(allow network*)"));
}

#[test]
fn a_path_cannot_end_its_own_quotes() {
    let policy = Policy::workspace(Path::new("/w\") (allow file-write* (subpath \"/"), None);
    let profile = profile(&policy, None);
    assert!(profile.contains(r#"(subpath "/w\") (allow file-write* (subpath \"/")"#));
}
