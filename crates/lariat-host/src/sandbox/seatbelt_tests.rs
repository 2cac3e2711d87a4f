use super::*;

#[test]
fn denies_protected_paths_after_allowing_writable_ones() {
    let policy = Policy::workspace(Path::new("/w"), Some(Path::new("/Users/me")));
    let profile = profile(&policy, None);
    let at = |text: &str| profile.find(text).unwrap_or_else(|| panic!("{text} is not in\n{profile}"));
    assert!(at("(deny default)") < at("(allow file-write* (subpath \"/w\"))"));
    assert!(at("(allow file-write* (subpath \"/w\"))") < at("(deny file-write* (subpath \"/w/.git\"))"));
    at("(deny file-read* file-write* (subpath \"/Users/me/.ssh\"))");
    assert!(!profile.contains("(allow network"));
}

#[test]
fn allow_list_allows_only_the_proxy() {
    let policy = Policy::workspace(Path::new("/w"), None).with_network(Network::Only(Vec::new()));
    let profile = profile(&policy, Some(3128));
    assert!(profile.contains("(allow network-outbound (remote ip \"localhost:3128\"))"));
    assert!(!profile.contains("(allow network*)"));
}

#[test]
fn quotes_in_a_path_are_escaped() {
    let policy = Policy::workspace(Path::new("/w\") (allow file-write* (subpath \"/"), None);
    let profile = profile(&policy, None);
    assert!(profile.contains(r#"(subpath "/w\") (allow file-write* (subpath \"/")"#));
}
