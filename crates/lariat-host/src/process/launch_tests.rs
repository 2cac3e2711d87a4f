use super::*;

#[test]
fn inherits_paths_but_no_keys() {
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
    let environment = Environment::from_inherited(all);
    let names: Vec<_> = environment.iter().map(|(name, _)| name.to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["PATH", "LC_ALL"]);
}

#[test]
fn setting_a_variable_again_replaces_its_value() {
    let environment = Environment::default().with("A", "1").with("A", "2");
    assert_eq!(environment.iter().count(), 1);
    assert_eq!(environment.value("A"), Some(OsStr::new("2")));
}

#[test]
fn finds_a_program_by_name() {
    let environment = Environment::default().with("PATH", "/nowhere:/usr/bin:/bin");
    assert!(environment.find(OsStr::new("bash")).unwrap().ends_with("bin/bash"));
    assert_eq!(environment.find(OsStr::new("./bash")).as_deref(), Some(Path::new("./bash")));
    assert_eq!(environment.find(OsStr::new("no-such-program")), None);
}

/// An active virtual environment puts a directory of the project first in `PATH`.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test creates its own files")]
fn skips_programs_in_directories_the_agent_can_write() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let base = std::env::temp_dir().join(format!("lariat-programs-{}", std::process::id()));
    let put = |path: &str, mode: u32| {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    put("ws/.venv/bin/git", 0o755);
    put("open/git", 0o755);
    put("writable/git", 0o777);
    let own = put("own/git", 0o755);
    std::fs::set_permissions(base.join("open"), std::fs::Permissions::from_mode(0o777)).unwrap();
    symlink(base.join("ws/.venv/bin"), base.join("linked")).unwrap();
    std::fs::create_dir_all(base.join("links")).unwrap();
    symlink(base.join("ws/.venv/bin/git"), base.join("links/git")).unwrap();
    let path = |places: &[&str]| {
        let places = places.iter().map(|place| base.join(place).display().to_string());
        let environment = Environment::default().with("PATH", places.collect::<Vec<_>>().join(":"));
        environment.with_untrusted_directories([base.join("ws")])
    };
    let git = OsStr::new("git");
    for place in ["ws/.venv/bin", "open", "writable", "linked", "links"] {
        let environment = path(&[place, "own"]);
        assert_eq!(environment.find(git), Some(own.clone()), "{place}");
        assert!(environment.is_shadowed("git"), "{place}");
        assert_eq!(path(&[place]).find(git), None, "{place}");
    }
    assert!(!path(&["own", "ws/.venv/bin"]).is_shadowed("git"));
    assert!(!path(&["ws/.venv/bin", "own"]).is_shadowed("cat"));
    let relative = Environment::default().with("PATH", ".:bin:");
    assert_eq!(relative.find(OsStr::new("Cargo.toml")), None);
    symlink(base.join("ws/not-yet"), base.join("dangling")).unwrap();
    for place in ["ws/.venv/bin", "ws/not-yet/bin", "linked", "linked/deeper", "dangling", "dangling/bin"] {
        assert!(path(&["own", place]).searches_untrusted(&[]), "{place}");
    }
    assert!(Environment::default().with("PATH", "/usr/bin:.").searches_untrusted(&[]));
    assert!(!path(&["own", "not-yet/bin"]).searches_untrusted(&[]));
    assert!(path(&["own"]).searches_untrusted(&[&base.join("own")]));
    let trusted = path(&["ws/.venv/bin", "open", "own"]).with_trusted_path();
    assert_eq!(trusted.value("PATH"), Some(base.join("own").as_os_str()));
    std::fs::remove_dir_all(base).unwrap();
}

#[test]
fn adds_git_settings_to_existing_ones() {
    let one = Environment::default().with_git_setting("safe.bareRepository", "explicit");
    assert_eq!(one.value("GIT_CONFIG_COUNT"), Some(OsStr::new("1")));
    assert_eq!(one.clone().with_git_setting("safe.bareRepository", "explicit"), one);
    let two = Environment::default()
        .with("GIT_CONFIG_COUNT", "1")
        .with("GIT_CONFIG_KEY_0", "a.b")
        .with("GIT_CONFIG_VALUE_0", "c")
        .with_git_setting("safe.bareRepository", "explicit");
    assert_eq!(two.value("GIT_CONFIG_COUNT"), Some(OsStr::new("2")));
    assert_eq!(two.value("GIT_CONFIG_KEY_0"), Some(OsStr::new("a.b")));
    assert_eq!(two.value("GIT_CONFIG_VALUE_1"), Some(OsStr::new("explicit")));
}
