//! Compares the names that the permission check protects with those that the sandbox protects.

use std::path::Path;
use std::sync::Arc;

use lariat_core::protected_names::{PACKAGES, STARTUP, WORKSPACE};
use lariat_guard::{
    Effect, Guard, GuardDecision, Layer, Level, Mode, NoLinks, Origin, SessionDirectories, Settings, Trust,
};
use lariat_host::sandbox::Policy;

/// A name that only one of them knows could be written in the other way: with a file tool, or by a command.
#[test]
fn permission_check_and_sandbox_protect_the_same_names() {
    let (workspace, home) = (Path::new("/people/u/p"), Path::new("/people/u"));
    let origin = Origin::file(Level::User, "/people/u/.claude/settings.json");
    let layer = Layer::new(origin).with_rule(Effect::Allow, "Edit");
    let settings = Settings::merge([layer], Trust::Trusted);
    let guard = Guard::new(settings, SessionDirectories::new(workspace, home), Arc::new(NoLinks));
    let asks = |name: &str| {
        let judgement = guard.dry_run(&format!("Edit({name})"), Mode::Default).unwrap();
        judgement.verdict == GuardDecision::Ask
    };
    assert!(!asks("src/main.rs"), "the rule allows ordinary files");
    let protected = Policy::workspace(workspace, Some(home)).protected;
    assert_eq!(protected.len(), WORKSPACE.len());
    for path in &protected {
        let name = path.strip_prefix(workspace).unwrap().to_str().unwrap();
        assert!(asks(name), "{name}");
    }
    let at_home = Policy::workspace(workspace, Some(workspace)).protected;
    for name in [WORKSPACE, STARTUP].concat() {
        assert!(asks(name) && at_home.contains(&workspace.join(name)), "{name}");
    }
    // Package managers write these files themselves, so commands may change them.
    for &name in PACKAGES {
        assert!(asks(name) && !protected.contains(&workspace.join(name)), "{name}");
    }
}
