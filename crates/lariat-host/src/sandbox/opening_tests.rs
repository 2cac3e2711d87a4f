use super::super::backend::Backend;
use super::*;

struct TempDirectory(PathBuf);

impl TempDirectory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-opening-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn repository(&self, name: &str) -> PathBuf {
        let folder = self.0.join(name);
        for sub in ["objects", "refs"] {
            std::fs::create_dir_all(folder.join(sub)).unwrap();
        }
        std::fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        folder
    }

    fn with_openings(&self, workspace: &Path, openings: &[SandboxOpening]) -> Option<Policy> {
        let sandbox = Sandbox::new(Policy::workspace(workspace, None), Backend::Landlock);
        sandbox.with_openings(openings, workspace).map(|sandbox| sandbox.policy().clone())
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn git_opening_keeps_files_protected_that_git_obeys() {
    let folder = TempDirectory::new("plain");
    let git = folder.repository(".git");
    let policy = folder.with_openings(&folder.0, &[SandboxOpening::Git]).unwrap();
    assert!(policy.writable.contains(&git) && !policy.protected.contains(&git));
    for name in ["config", "hooks", "commondir", "info/attributes", "modules"] {
        assert!(policy.protected.contains(&git.join(name)), "{name}");
    }
    assert!(policy.protected.contains(&folder.0.join(".claude")));
}

#[test]
fn git_opening_covers_the_repositories_of_all_workspaces() {
    let folder = TempDirectory::new("two");
    let (first, second) = (folder.repository("first/.git"), folder.repository("second/.git"));
    let policy =
        Policy::workspace(&folder.0.join("first"), None).with_workspace(&folder.0.join("second"), None);
    assert!(policy.protected.contains(&second), "protected without the opening");
    let sandbox = Sandbox::new(policy, Backend::Landlock);
    let opened = sandbox.with_openings(&[SandboxOpening::Git], &folder.0.join("first")).unwrap();
    for git in [first, second] {
        assert!(opened.policy().writable.contains(&git), "{git:?}");
        assert!(opened.policy().protected.contains(&git.join("hooks")), "{git:?}");
    }
}

#[test]
fn git_file_to_an_unrelated_repository_opens_nothing() {
    let folder = TempDirectory::new("planted");
    let other = folder.repository("other");
    std::fs::create_dir(folder.0.join("work")).unwrap();
    std::fs::write(folder.0.join("work/.git"), format!("gitdir: {}\n", other.display())).unwrap();
    let policy = folder.with_openings(&folder.0.join("work"), &[SandboxOpening::Git]).unwrap();
    assert!(!policy.writable.contains(&other));
}

#[test]
fn linked_work_tree_opens_its_own_and_the_shared_directory() {
    let folder = TempDirectory::new("linked");
    let shared = folder.repository("main.git");
    let (own, other) = (shared.join("worktrees/w"), shared.join("worktrees/other"));
    std::fs::create_dir_all(&own).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    let work = folder.0.join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    std::fs::write(own.join("gitdir"), format!("{}\n", work.join(".git").display())).unwrap();
    std::fs::write(own.join("commondir"), "../..\n").unwrap();
    let policy = folder.with_openings(&work, &[SandboxOpening::Git]).unwrap();
    assert!(policy.writable.contains(&own) && policy.writable.contains(&shared));
    assert!(policy.protected.contains(&other) && policy.protected.contains(&shared.join("hooks")));
}

#[test]
fn outside_opening_removes_the_sandbox_and_network_opening_enables_the_network() {
    let folder = TempDirectory::new("other");
    assert_eq!(folder.with_openings(&folder.0, &[SandboxOpening::Network, SandboxOpening::Outside]), None);
    assert_eq!(folder.with_openings(&folder.0, &[SandboxOpening::Network]).unwrap().network, Network::On);
    assert_eq!(folder.with_openings(&folder.0, &[SandboxOpening::Git]).unwrap().network, Network::Off);
    let missing = SandboxOpening::Write("/nowhere/at/all".to_owned());
    assert_eq!(
        folder.with_openings(&folder.0, &[missing]).unwrap().writable,
        std::slice::from_ref(&folder.0)
    );
}
