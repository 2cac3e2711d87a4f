//! Tests loading, finding and expanding commands.
#![expect(clippy::disallowed_methods, reason = "tests create the directories that commands are loaded from")]

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-commands-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("commands")).unwrap();
        Self(path)
    }

    fn write(self, path: &str, text: &str) -> Self {
        let path = self.0.join("commands").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn load(&self, source: &str) -> CommandSet {
        CommandSet::load_in(&Workspace::open(&self.0).unwrap(), "commands", source)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(text: &str) -> ExpandedPart {
    ExpandedPart::Text(text.to_owned())
}

fn shell(command: &str) -> ExpandedPart {
    ExpandedPart::Shell(command.to_owned())
}

fn expand(body: &str, arguments: &str) -> Vec<ExpandedPart> {
    expansion::expand(body, arguments)
}

#[test]
fn loads_names_descriptions_and_hints() {
    let folder = Folder::new("load")
        .write("review.md", "---\ndescription: Review a change\nargument-hint: [number]\n---\nReview $1.\n")
        .write("db/migrate.md", "# Write a migration\nFor $ARGUMENTS.")
        .write("notes.txt", "not a command")
        .write(".hidden.md", "not a command");
    let set = folder.load("project");
    let names: Vec<_> = set.commands().iter().map(|c| (c.name.as_str(), c.namespace.as_str())).collect();
    assert_eq!(names, [("migrate", "db"), ("review", "")]);
    let review = set.find("review").unwrap();
    assert_eq!((review.description.as_str(), review.argument_hint.as_str()), ("Review a change", "[number]"));
    assert_eq!(set.find("db:migrate").unwrap().description, "Write a migration");
    assert_eq!(set.find("migrate"), set.find("db:migrate"));
    assert_eq!(set.find("other:migrate"), None);
    assert_eq!(set.warnings(), []);
}

#[test]
fn project_command_wins_over_the_users() {
    let (user, project) = (Folder::new("user"), Folder::new("project"));
    let (user, project) = (user.write("go.md", "mine"), project.write("go.md", "ours"));
    let mut set = user.load("user");
    set.merge(project.load("project"));
    assert_eq!(set.find("go").unwrap().body, "ours");
    assert_eq!(set.commands().len(), 1);
}

#[test]
fn link_out_of_the_directory_is_a_warning() {
    let folder = Folder::new("link").write("a.md", "a");
    std::os::unix::fs::symlink("/etc/hostname", folder.0.join("commands/b.md")).unwrap();
    let set = folder.load("project");
    assert_eq!(set.commands().len(), 1);
    assert_eq!(set.warnings().len(), 1, "{:?}", set.warnings());
}

#[test]
fn only_a_name_after_the_slash_is_an_invocation() {
    assert_eq!(is_invocation("/review 12 high"), Some(("review", "12 high")));
    assert_eq!(is_invocation("  /db:migrate\nusers"), Some(("db:migrate", "users")));
    for message in ["/usr/bin/env fails", "review /this", "/", "//x", "/ x", ""] {
        assert_eq!(is_invocation(message), None, "{message}");
    }
}

#[test]
fn arguments_fill_their_places() {
    assert_eq!(
        expand("Fix $1 as $2, all: $ARGUMENTS", "12 'very high'"),
        [text("Fix 12 as very high, all: 12 'very high'")]
    );
    assert_eq!(expand("Fix $1$3 for $5.00", "12"), [text("Fix 12 for .00")]);
    assert_eq!(expand("Costs $x and $", ""), [text("Costs $x and $")]);
    assert_eq!(expand("Review.", "a b"), [text("Review.\n\nARGUMENTS: a b")]);
}

#[test]
fn shell_commands_are_separate_and_arguments_never_become_one() {
    assert_eq!(
        expand("Status: !`git status`\nLog: !`git log $1` end", "HEAD~3"),
        [text("Status: "), shell("git status"), text("\nLog: "), shell("git log HEAD~3"), text(" end")]
    );
    assert_eq!(expand("Say $1", "'!`rm x`'"), [text("Say !`rm x`")]);
    assert_eq!(expand("Run !`git log $1`", "`id`"), [text("Run "), shell("git log `id`")]);
    for body in ["wow!`code`", "!`", "!``", "!`a\nb`"] {
        assert_eq!(expand(body, ""), [text(body)], "{body}");
    }
}
