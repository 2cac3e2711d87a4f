//! Memory files: which files are read, how far imports reach, and that no link leads out of the workspace.

use lariat::context::{PromptSection, SectionQuery, Sections};
use lariat::host::files::Workspace;
use lariat::local::{MapSection, MemoryFiles};
use lariat::permission::Trust;
use lariat::tool::Workbench;

use crate::test_dirs::TestDirs;

fn files(dirs: &TestDirs) -> MemoryFiles {
    let workspace = Workspace::open(dirs.path("project")).unwrap();
    MemoryFiles::new(&workspace, Some(&dirs.path("home")), Trust::Trusted)
}

/// Returns the sections that would be sent, and the problems found.
async fn assemble(files: MemoryFiles) -> (Vec<PromptSection>, Vec<String>) {
    let files = std::sync::Arc::new(files);
    let mut sections = Sections::default();
    sections.add(std::sync::Arc::clone(&files));
    (sections.assemble(SectionQuery::default()).await, files.problems())
}

fn names(sections: &[PromptSection]) -> Vec<&str> {
    sections.iter().map(|section| &*section.name).collect()
}

#[tokio::test]
async fn does_not_follow_links_out_of_the_workspace() {
    let dirs = TestDirs::new();
    dirs.write("secret.md", "The secret.");
    dirs.write("project/real.md", "Inside.");
    dirs.link(dirs.path("secret.md"), "project/CLAUDE.md");
    dirs.link("real.md", "project/CLAUDE.local.md");
    dirs.link(dirs.path("secret.md"), "project/.claude/rules/evil.md");
    let (sections, problems) = assemble(files(&dirs)).await;
    assert_eq!(names(&sections), ["memory CLAUDE.local.md"]);
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[tokio::test]
async fn imports_stop_after_four_levels_and_import_cycles_end() {
    let dirs = TestDirs::new();
    dirs.write("project/CLAUDE.md", "@1.md");
    for n in 1..=6 {
        dirs.write(&format!("project/{n}.md"), &format!("@{}.md @CLAUDE.md", n + 1));
    }
    let (sections, _) = assemble(files(&dirs)).await;
    assert_eq!(
        names(&sections),
        ["memory CLAUDE.md", "memory 1.md", "memory 2.md", "memory 3.md", "memory 4.md"]
    );
}

/// A project could once send `~/.aws/credentials` to the model with an import.
#[tokio::test]
async fn imports_never_leave_the_project_or_the_users_settings_directory() {
    let dirs = TestDirs::new();
    dirs.write("home/own.md", "Mine.");
    dirs.write("home/.aws/credentials", "Secret.");
    dirs.write("home/.claude/CLAUDE.md", "@style.md @~/.claude/more.md @~/own.md @../.aws/credentials");
    dirs.write("home/.claude/style.md", "Style.");
    dirs.write("home/.claude/more.md", "More.");
    dirs.write("else.md", "Outside.");
    dirs.write("project/CLAUDE.md", "@~/own.md @../else.md @~/.aws/credentials @ok.md");
    dirs.write("project/ok.md", "Inside.");
    let (sections, problems) = assemble(files(&dirs)).await;
    assert_eq!(
        names(&sections),
        [
            "memory ~/.claude/CLAUDE.md",
            "memory ~/.claude/style.md",
            "memory ~/.claude/more.md",
            "memory CLAUDE.md",
            "memory ok.md"
        ]
    );
    assert_eq!(problems.len(), 5, "{problems:?}");
}

/// Directories above a project were once treated as the user's own.
#[tokio::test]
async fn directories_above_a_project_belong_to_it_and_need_trust() {
    let dirs = TestDirs::new();
    dirs.write("CLAUDE.md", "Above the home.");
    dirs.write("home/.claude/CLAUDE.md", "Of the user.");
    dirs.write("home/CLAUDE.md", "At home. @.aws/credentials");
    dirs.write("home/.aws/credentials", "Secret.");
    dirs.write("home/work/CLAUDE.md", "Above the project.");
    dirs.write("home/work/app/.git/config", "");
    dirs.write("home/work/app/CLAUDE.md", "Of the project.");
    dirs.write("home/work/app/web/src/CLAUDE.md", "Of the directory.");
    let workspace = Workspace::open(dirs.path("home/work/app/web")).unwrap();
    let of = |trust| MemoryFiles::new(&workspace, Some(&dirs.path("home")), trust).with_directory("src");
    let (sections, _) = assemble(of(Trust::Trusted)).await;
    let root = dirs.path("home/work/app/CLAUDE.md");
    let root = format!("memory {}", root.display());
    let expected = [
        "memory ~/.claude/CLAUDE.md",
        "memory ~/CLAUDE.md",
        "memory ~/work/CLAUDE.md",
        &root,
        "memory src/CLAUDE.md",
    ];
    assert_eq!(names(&sections), expected);
    assert!(!sections.iter().any(|section| section.text.contains("Secret")));
    let (sections, _) = assemble(of(Trust::Untrusted)).await;
    assert_eq!(names(&sections), ["memory ~/.claude/CLAUDE.md", "memory"]);
    assert!(sections[1].text.contains("~/work/CLAUDE.md"), "{sections:?}");
    assert!(!sections[1].text.contains("Above the project."), "{sections:?}");
}

#[tokio::test]
async fn skips_a_file_that_is_too_large_and_reports_it() {
    let dirs = TestDirs::new();
    dirs.write("project/CLAUDE.md", &"x".repeat(4 * 1024 * 1024 + 1));
    let (sections, problems) = assemble(files(&dirs)).await;
    assert!(sections.is_empty());
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[tokio::test]
async fn map_section_appears_only_with_source_files() {
    let dirs = TestDirs::new();
    let map = || {
        let bench = Workbench::new(Workspace::open(dirs.path("project")).unwrap());
        let mut sections = Sections::default();
        sections.add(MapSection::new(&bench, 500));
        sections
    };
    assert!(map().assemble(SectionQuery::default()).await.is_empty());
    dirs.write("project/src/lib.rs", "pub fn lasso() {}\n");
    let sections = map().assemble(SectionQuery::default()).await;
    assert!(sections[0].text.contains("pub fn lasso()"), "{sections:?}");
}
