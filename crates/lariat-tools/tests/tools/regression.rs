//! Tests for bugs of the tools that were fixed; each says the fault.

use std::path::Path;

use lariat_core::file_access::FileUse;
use serde_json::json;

use crate::file_permissions::{call, denying};
use crate::fixture::Fixture;

/// The check judged the path that the model wrote: a directory that became a link to `.git` let a tool change it.
#[tokio::test]
async fn links_are_checked_by_their_target() {
    let fixture = Fixture::new();
    fixture.put(".git/config", "[core]\n");
    std::os::unix::fs::symlink(".git", fixture.base.join("ws/d")).unwrap();
    for (tool, arguments) in [
        ("edit_file", json!({ "path": "d/config", "old_string": "[core]", "new_string": "[evil]" })),
        ("write_file", json!({ "path": "d/hooks/pre-commit", "content": "x" })),
        ("apply_patch", json!({ "patch": "--- a/d/config\n+++ /dev/null\n@@ -1 +0,0 @@\n-[core]\n" })),
        ("apply_patch", json!({ "patch": "rename from d/config\nrename to stolen\n" })),
    ] {
        let judge =
            denying(|path: &Path, used| used != FileUse::Read && path.iter().any(|name| name == ".git"));
        let said = call(&fixture, judge, tool, arguments).await;
        assert!(said.contains("/.git/") && said.contains("access is denied"), "{tool}: {said}");
        assert_eq!(fixture.content(".git/config").as_deref(), Some("[core]\n"));
        assert!(!fixture.base.join("ws/.git/hooks").exists() && !fixture.base.join("ws/stolen").exists());
    }
}

/// A rule against reading a file covered `read_file` only: other tools listed, mapped and searched the file.
#[tokio::test]
async fn leaves_out_unreadable_files_everywhere() {
    let fixture = Fixture::new();
    for path in [".env", "sub/.env", "private/key.rs", "open.rs"] {
        fixture.put(path, "fn secret() {} // KEY=hunter2\n");
    }
    for (tool, arguments) in [
        ("search", json!({ "pattern": "hunter2", "all": true })),
        ("glob", json!({ "pattern": "**/*", "all": true })),
        ("list_files", json!({ "all": true, "depth": 5 })),
        ("repo_map", json!({})),
    ] {
        let judge = denying(|path: &Path, _| path.iter().any(|name| name == ".env" || name == "private"));
        let said = call(&fixture, judge, tool, arguments).await;
        assert!(said.contains("open.rs"), "{tool}: {said}");
        assert!(!said.contains(".env") && !said.contains("key.rs"), "{tool}: {said}");
    }
}

/// `fetch` followed a redirect to a host that no permission rule had judged.
#[cfg(feature = "fetch")]
#[tokio::test]
async fn reports_but_does_not_follow_redirects_to_another_host() {
    let (port, asked) = crate::fetch::server().await;
    let fixture = Fixture::with(|bench: lariat_tools::Workbench| {
        bench.with_internal_host("127.0.0.1").with_internal_host("localhost")
    });
    for (path, target) in [
        ("/inside", format!("http://localhost:{port}/page")),
        ("/metadata", "http://169.254.169.254/latest".to_owned()),
        ("/file", "file:///etc/passwd".to_owned()),
    ] {
        let error = fixture.error("fetch", json!({ "url": format!("http://127.0.0.1:{port}{path}") })).await;
        assert!(error.contains("another host") && error.contains(&target), "{path}: {error}");
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 3);
}
