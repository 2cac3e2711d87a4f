use super::*;

#[test]
fn keys_are_not_inherited_and_paths_are() {
    let all = [
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("ANTHROPIC_API_KEY", "secret"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("GITHUB_TOKEN", "secret"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("LD_PRELOAD", "/tmp/evil.so"),
        ("BASH_ENV", "/tmp/evil.sh"),
    ];
    let environment = Environment::inherited(all);
    let names: Vec<_> = environment.iter().map(|(name, _)| name.to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["PATH", "LC_ALL"]);
}

#[test]
fn a_variable_that_is_set_again_has_its_last_value() {
    let environment = Environment::default().with("A", "1").with("A", "2");
    assert_eq!(environment.iter().count(), 1);
    assert_eq!(environment.value("A"), Some(OsStr::new("2")));
}

#[test]
fn a_program_is_found_by_its_name() {
    let environment = Environment::default().with("PATH", "/nowhere:/usr/bin:/bin");
    assert!(environment.find(OsStr::new("bash")).ends_with("bin/bash"));
    assert_eq!(environment.find(OsStr::new("./bash")), Path::new("./bash"));
}
