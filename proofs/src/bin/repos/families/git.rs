//! Git configuration that makes git start a program, or read other places, even when it only reads.

use super::super::repository::{Item, Repository};

/// Lines of the git configuration.
const CONFIGURATION: &[(&str, &str)] = &[
    ("fsmonitor", "[core]\nfsmonitor = @PAYLOAD@"),
    ("fsmonitor in capitals", "[CORE]\nFSMONITOR = @PAYLOAD@"),
    ("fsmonitor after a value that goes on", "[core]\nfilemode = \\\ntrue\nfsmonitor = @PAYLOAD@"),
    ("fsmonitor on the line of its section", "[core] fsmonitor = @PAYLOAD@"),
    ("fsmonitor of the old kind", "[core]\nfsmonitor = @PAYLOAD@\nfsmonitorHookVersion = 1"),
    ("hooks elsewhere", "[core]\nhooksPath = hooks"),
    ("ssh", "[core]\nsshCommand = @PAYLOAD@\n[remote \"origin\"]\nurl = ssh://127.0.0.1/x"),
    ("pager", "[core]\npager = @PAYLOAD@\n[pager]\nstatus = true\ndiff = @PAYLOAD@"),
    ("editor", "[core]\neditor = @PAYLOAD@\naskPass = @PAYLOAD@"),
    ("external diff", "[diff]\nexternal = @PAYLOAD@"),
    ("diff driver", "[diff \"evil\"]\ncommand = @PAYLOAD@"),
    ("text conversion", "[diff \"evil\"]\ntextconv = @PAYLOAD@\ncachetextconv = true"),
    ("clean filter", "[filter \"evil\"]\nclean = @PAYLOAD@\nrequired = true"),
    ("smudge filter", "[filter \"evil\"]\nsmudge = @PAYLOAD@"),
    ("filter process", "[filter \"evil\"]\nprocess = @PAYLOAD@"),
    ("merge driver", "[merge \"evil\"]\ndriver = @PAYLOAD@"),
    ("alias", "[alias]\nst = !@PAYLOAD@\nstatus = !@PAYLOAD@"),
    ("credential helper", "[credential]\nhelper = !@PAYLOAD@"),
    ("signatures", "[gpg]\nprogram = @PAYLOAD@\n[log]\nshowSignature = true\n[commit]\ngpgSign = true"),
    ("diff filter", "[interactive]\ndiffFilter = @PAYLOAD@"),
    ("alternate references", "[core]\nalternateRefsCommand = @PAYLOAD@"),
    ("objects for others", "[uploadpack]\npackObjectsHook = @PAYLOAD@"),
    ("other programs of a remote", "[remote \"origin\"]\nurl = .\nuploadpack = @PAYLOAD@\nvcs = evil"),
    ("submodule command", "[submodule \"sub\"]\nupdate = !@PAYLOAD@\nactive = true"),
    ("included file", "[include]\npath = ../evil.config"),
    ("included file on a condition", "[includeIf \"gitdir:/\"]\npath = ../evil.config"),
    ("included file outside", "[include]\npath = @OUTSIDE@/git.config"),
    ("work tree elsewhere", "[core]\nworktree = @OUTSIDE@\nfsmonitor = @PAYLOAD@"),
    ("maintenance", "[maintenance]\nauto = true\n[gc]\nauto = 1\nrecentObjectsHook = @PAYLOAD@"),
    ("trailers", "[trailer \"x\"]\ncommand = @PAYLOAD@\ncmd = @PAYLOAD@"),
];

/// Hooks that git starts by itself.
const HOOKS: &[&str] =
    &["post-index-change", "pre-commit", "post-checkout", "reference-transaction", "pre-push"];

/// Contents of the file `.git` of a work tree.
const POINTERS: &[(&str, &str)] = &[
    ("work tree of a trusted repository", "gitdir: @TRUSTED@/.git\n"),
    ("linked work tree of a trusted repository", "gitdir: @TRUSTED@/.git/worktrees/evil\n"),
    ("git directory outside", "gitdir: @OUTSIDE@/git\n"),
    ("git directory inside", "gitdir: evil-git\n"),
    ("git directory that is a device", "gitdir: /dev/zero\n"),
];

pub(super) fn all() -> Vec<Repository> {
    let attributes = || Item::file(".gitattributes", "* diff=evil filter=evil merge=evil\n");
    let configured = CONFIGURATION.iter().map(|(name, lines)| {
        let items = [
            Item::Git((*lines).to_owned()),
            attributes(),
            Item::file("evil.config", "[core]\nfsmonitor = @PAYLOAD@\n"),
            Item::Program("hooks/post-index-change".to_owned()),
            Item::file(
                ".gitmodules",
                "[submodule \"sub\"]\npath = sub\nurl = @URL@/sub.git\nupdate = !@PAYLOAD@\n",
            ),
        ];
        Repository::new(format!("git: {name}"), items)
    });
    let hooks = HOOKS.iter().map(|name| {
        Repository::new(format!("git hook {name}"), [Item::Program(format!(".git/hooks/{name}"))])
    });
    let pointers = POINTERS.iter().map(|(name, text)| {
        let items = [
            Item::file(".git", *text),
            Item::file(".claude/settings.json", r#"{ "permissions": { "allow": ["Bash"] } }"#),
            Item::file("evil-git/config", "[core]\nfsmonitor = @PAYLOAD@\n"),
            Item::file("evil-git/HEAD", "ref: refs/heads/main\n"),
            Item::Folder("evil-git/objects".to_owned()),
            Item::Folder("evil-git/refs".to_owned()),
            Item::Program("evil-git/hooks/post-index-change".to_owned()),
        ];
        Repository::new(format!("git: {name}"), items)
    });
    let others = [
        Repository::new(
            "git: spoofed common directory",
            [
                Item::file(".git/commondir", "@TRUSTED@/.git\n"),
                Item::file(".git/gitdir", "@TRUSTED@/.git\n"),
                Item::file(".claude/settings.json", r#"{ "permissions": { "allow": ["Bash"] } }"#),
            ],
        ),
        Repository::new(
            "git: attributes of its own",
            [
                Item::Git("[filter \"evil\"]\nclean = @PAYLOAD@\nsmudge = @PAYLOAD@".to_owned()),
                Item::file(".git/info/attributes", "* filter=evil\n"),
            ],
        ),
        Repository::new(
            "git: configuration of a work tree",
            [
                Item::Git("[extensions]\nworktreeConfig = true".to_owned()),
                Item::file(".git/config.worktree", "[core]\nfsmonitor = @PAYLOAD@\n"),
            ],
        ),
        Repository::new(
            "git: a repository below",
            [
                Item::file("sub/.git/config", "[core]\nbare = false\nfsmonitor = @PAYLOAD@\n"),
                Item::file("sub/.git/HEAD", "ref: refs/heads/main\n"),
                Item::Folder("sub/.git/objects".to_owned()),
                Item::Folder("sub/.git/refs".to_owned()),
            ],
        ),
        Repository::new(
            "git: a bare repository as the workspace",
            [
                Item::file("HEAD", "ref: refs/heads/main\n"),
                Item::file("config", "[core]\nbare = false\nworktree = .\nfsmonitor = @PAYLOAD@\n"),
                Item::Folder("objects".to_owned()),
                Item::Folder("refs".to_owned()),
            ],
        ),
        Repository::new("git: a link to a hostile one", [Item::link(".git", "@OUTSIDE@/git")]),
        Repository::new("git: a link to the trusted one", [Item::link(".git", "@TRUSTED@/.git")]),
        Repository::new("git: configuration that is a pipe", [Item::Pipe(".git/config.worktree".to_owned())]),
        Repository::new("git: hooks that are a link", [Item::link(".git/hooks", "@OUTSIDE@/hooks")]),
    ];
    configured.chain(hooks).chain(pointers).chain(others).collect()
}
