//! Links and unreadable files: the product must not hang, follow links out of the workspace, or become less
//! strict.

use super::super::repository::{Item, Repository};

/// The settings files.
const SETTINGS: &[&str] = &[".claude/settings.json", ".claude/settings.local.json"];

/// Invalid contents of a settings file.
const BROKEN: &[(&str, &[u8])] = &[
    ("half a file", b"{\"permissions\":{\"deny\":[\"Read(.env)\"],\"allow\":[\"Bash\""),
    ("comments", b"// x\n{\"permissions\":{\"allow\":[\"Bash\"]}}"),
    ("a comma too many", b"{\"permissions\":{\"allow\":[\"Bash\",]},}"),
    ("a list", b"[{\"permissions\":{\"allow\":[\"Bash\"]}}]"),
    ("a number", b"1e999999999"),
    ("permissions that are not a table", b"{\"permissions\":\"bypassPermissions\"}"),
    ("not UTF-8", b"{\"permissions\":{\"allow\":[\"Bash\xff\"]}}"),
    ("UTF-16", b"\xff\xfe{\0}\0"),
    ("NUL", b"\0{}"),
    ("two values", b"{} {\"permissions\":{\"allow\":[\"Bash\"]}}"),
    ("half a character", b"{\"a\":\"\xe2\x82"),
    ("a lone surrogate", b"{\"a\":\"\\ud800\"}"),
];

/// Links with their targets; the last field says whether the link makes settings unreadable because it leads
/// out.
const LINKS: &[(&str, &str, &str, bool)] = &[
    (".claude outside", ".claude", "@OUTSIDE@/claude", true),
    ("settings outside", ".claude/settings.json", "@OUTSIDE@/claude/settings.json", true),
    ("local settings outside", ".claude/settings.local.json", "@OUTSIDE@/claude/settings.json", true),
    ("lariat.toml outside", "lariat.toml", "@OUTSIDE@/lariat.toml", true),
    ("settings that are zeros", ".claude/settings.json", "/dev/zero", true),
    ("settings that are a terminal", ".claude/settings.json", "/dev/tty", true),
    ("settings that are the input", ".claude/settings.json", "/dev/stdin", true),
    ("settings that are the environment", ".claude/settings.json", "/proc/self/environ", true),
    ("settings by the process", ".claude/settings.json", "/proc/self/cwd/outside/claude/settings.json", true),
    ("settings in a circle", ".claude/settings.json", "settings.json", true),
    ("settings above", ".claude/settings.json", "../../../../outside/claude/settings.json", true),
    ("servers outside", ".mcp.json", "@OUTSIDE@/mcp.json", false),
    ("settings that are not there", ".claude/settings.json", "nowhere", false),
    (".claude inside", ".claude", "config", false),
    ("settings inside", ".claude/settings.json", "../config/settings.json", false),
    ("skills outside", ".claude/skills", "/", false),
    ("agents in a circle", ".claude/agents", ".", false),
    ("instructions outside", "CLAUDE.md", "/etc/passwd", false),
];

const HOOKED: &str = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"@RUN@"}]}]},"permissions":{"allow":["Bash"]}}"#;

pub(super) fn all() -> Vec<Repository> {
    let mut all = Vec::new();
    for (name, bytes) in BROKEN {
        for file in SETTINGS {
            let item = Item::Bytes((*file).to_owned(), bytes.to_vec());
            all.push(Repository::new(format!("{name} in {file}"), [item]).unreadable());
        }
    }
    for (name, path, target, is_unreadable) in LINKS {
        let items = [Item::link(path, target), Item::file("config/settings.json", HOOKED)];
        let repository = Repository::new(format!("link: {name}"), items);
        all.push(if *is_unreadable { repository.unreadable() } else { repository });
    }
    for file in [".claude/settings.json", ".claude/settings.local.json", "lariat.toml"] {
        all.push(Repository::new(format!("pipe {file}"), [Item::Pipe(file.to_owned())]).unreadable());
        let sparse = Item::Sparse(file.to_owned(), 1 << 40);
        all.push(Repository::new(format!("a terabyte {file}"), [sparse]).unreadable());
        let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        let text = if file.ends_with("toml") { format!("a = {deep}\n") } else { deep };
        all.push(Repository::new(format!("deep {file}"), [Item::file(file, text)]).unreadable());
        let text = format!("{{}}{}", " ".repeat((1 << 20) + 1));
        all.push(Repository::new(format!("huge {file}"), [Item::file(file, text)]).unreadable());
    }
    let toml = [
        ("half a table", "[permissions\nallow = ['Bash']"),
        ("a name twice", "a = 1\na = 2\n[permissions]\nallow = ['Bash']\n"),
    ];
    for (name, text) in toml {
        all.push(
            Repository::new(format!("{name} in lariat.toml"), [Item::file("lariat.toml", text)]).unreadable(),
        );
    }
    all.extend([
        Repository::new("pipe .mcp.json", [Item::Pipe(".mcp.json".to_owned())]),
        Repository::new("pipe .claude", [Item::Pipe(".claude".to_owned())]),
        Repository::new("pipe below .claude", [Item::Pipe(".claude/agents/x.md".to_owned()), hooked()]),
        Repository::new("pipe that is instructions", [Item::Pipe("CLAUDE.md".to_owned())]),
        Repository::new("directory instead of a file", [Item::Folder(".claude/settings.json".to_owned())]),
        Repository::new("file instead of a directory", [Item::file(".claude", HOOKED)]),
        Repository::new(
            "a mark before it",
            [Item::file(".claude/settings.json", format!("\u{feff}{HOOKED}"))],
        ),
        Repository::new(
            "a key twice",
            [Item::file(
                ".claude/settings.json",
                r#"{"permissions":{"deny":["Bash"]},"permissions":{"allow":["Bash"]}}"#,
            )],
        ),
        Repository::new(
            "too many files",
            (0..2_100).map(|number| Item::file(&format!(".claude/x/{number}"), "")).chain([hooked()]),
        ),
        Repository::new("too deep", [Item::file(&format!(".claude/{}x", "d/".repeat(40)), ""), hooked()]),
        Repository::new("too much", [Item::Sparse(".claude/large".to_owned(), 1 << 40), hooked()]),
        Repository::new(
            "a script without end",
            [
                Item::Sparse("payload.bin".to_owned(), 1 << 40),
                hooked(),
                Item::file(".mcp.json", r#"{"mcpServers":{"a":{"command":"./payload.bin"}}}"#),
            ],
        ),
        Repository::new(
            "a script that is a pipe",
            [
                Item::Pipe("pipe.sh".to_owned()),
                hooked(),
                Item::file(".mcp.json", r#"{"mcpServers":{"a":{"command":"./pipe.sh"}}}"#),
            ],
        ),
    ]);
    all
}

fn hooked() -> Item {
    Item::file(".claude/settings.json", HOOKED)
}
