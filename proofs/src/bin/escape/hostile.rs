//! Passes hostile paths to every tool for files and for searches.
//!
//! Every tool must refuse a path that leads out. An odd path may have any result, as long as no tool opens,
//! shows or changes anything outside.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lariat_host::files::{Access, Sync, Workspace};
use lariat_tools::Workbench;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::calls::{PATH_ARGUMENTS, answer, call, tools};
use crate::fixture::{CANARY, HARD, OUTSIDE_NAME, text};
use crate::{Fixture, Report, SHOWN, Watchdog};

/// With fewer paths than this, the collection itself is incomplete.
const AT_LEAST: usize = 2_000;

struct Paths {
    refused: BTreeSet<String>,
    odd: BTreeSet<String>,
}

pub(crate) fn run() -> Result<Report, String> {
    let fixture = Fixture::new("hostile")?;
    let watchdog = Watchdog::new();
    let paths = collect(&fixture)?;
    let workspace = Workspace::open(fixture.inside("")).map_err(text)?.with_sync(Sync::Fast);
    let workspace = workspace.with_root("/proc", Access::ReadOnly).map_err(text)?;
    let mut faults = Vec::new();
    let mut calls = 0;
    let count = paths.refused.len() + paths.odd.len();
    if count < AT_LEAST {
        faults.push(format!("only {count} paths"));
    }
    let all = paths.refused.iter().map(|path| (path, true)).chain(paths.odd.iter().map(|path| (path, false)));
    for (path, refused) in all {
        // The others would say the same, or hang.
        if faults.len() >= SHOWN {
            break;
        }
        for (name, arguments) in PATH_ARGUMENTS {
            // A fresh workbench has not read any file yet; also recreate the file that the tools move.
            let tools = tools(&Workbench::new(workspace.clone()));
            if !fixture.inside("given").exists() {
                fixture.put("given", "given\n")?;
            }
            let _ = fs::remove_file(fixture.inside("taken"));
            calls += 1;
            let shown: String = path.chars().take(120).collect();
            let result =
                watchdog.watch(|| format!("{name} {shown:?}"), || call(&tools, name, arguments(path)));
            let opened = fixture.opened_outside();
            if !opened.is_empty() {
                faults.push(format!("{name} {shown:?} opened files outside: {}", opened.join(", ")));
            }
            let answer = answer(&result);
            if answer.contains(CANARY) || answer.contains(OUTSIDE_NAME) {
                faults.push(format!("{name} {shown:?} returned something from outside"));
            }
            if refused && result.is_ok() {
                faults.push(format!("{name} {shown:?} was not refused"));
            }
        }
    }
    if let Some(path) = fixture.changed_outside()? {
        faults.push(format!("{path} was changed"));
    }
    let line = format!("hostile paths: {count}, calls: {calls}, faults: {}", faults.len());
    Ok(Report { faults, line })
}

fn collect(fixture: &Fixture) -> Result<Paths, String> {
    let mut paths = Paths { refused: BTreeSet::new(), odd: BTreeSet::new() };
    dots(fixture, &mut paths);
    links(fixture, &mut paths)?;
    magic(fixture, &mut paths)?;
    special(fixture, &mut paths)?;
    odd(fixture, &mut paths)?;
    Ok(paths)
}

const TARGETS: &[&str] = &[
    "out",
    "out/canary",
    "out/deep/canary",
    "out/deep/../canary",
    "out/new",
    "out/deep/new/er",
    "ws-evil/canary",
    "ws-evil",
    "wS/canary",
    "canary",
    "",
];

/// Parent directories and absolute paths in many spellings.
fn dots(fixture: &Fixture, paths: &mut Paths) {
    let folders: &[(&str, usize)] = &[
        ("", 0),
        ("a/", 1),
        ("a/b/", 2),
        ("a/b/c/", 3),
        ("./", 0),
        ("a/./", 1),
        ("a//b/", 2),
        ("a/../", 0),
        ("a/b/../../a/", 1),
    ];
    for target in TARGETS {
        for (folder, depth) in folders {
            for up in ["../", "..//", ".././", "..///"] {
                paths.refused.insert(format!("{folder}{}{target}", up.repeat(depth + 1)));
            }
            let absolute = fixture.absolute(target);
            paths.refused.insert(format!("{folder}{}{}", "../".repeat(40), absolute.trim_start_matches('/')));
            paths
                .refused
                .insert(fixture.absolute(&format!("ws/{folder}{}{target}", "../".repeat(depth + 1))));
        }
        let absolute = fixture.absolute(target);
        for spelled in [
            absolute.clone(),
            format!("/{absolute}"),
            format!("//{absolute}"),
            absolute.replace('/', "//"),
            absolute.replace('/', "/./"),
        ] {
            paths.refused.insert(spelled);
        }
        paths.refused.insert(fixture.absolute(&format!("ws/../{target}")));
        paths.refused.insert(fixture.absolute(&format!("out/../{target}")));
        paths.refused.insert(format!("/..{absolute}"));
    }
    for path in [
        "/",
        "/etc/passwd",
        "/etc",
        "/dev/null",
        "/dev/zero",
        "/dev/tty",
        "/var/lib/private",
        "/tmp",
        "/sys/kernel",
    ] {
        paths.refused.insert(path.to_owned());
    }
}

/// Links of every kind that lead out, and paths through them.
fn links(fixture: &Fixture, paths: &mut Paths) -> Result<(), String> {
    let targets: Vec<(String, String)> = TARGETS
        .iter()
        .flat_map(|target| {
            [
                (format!("abs-{}", target.replace(['/', '.'], "_")), fixture.absolute(target)),
                (format!("rel-{}", target.replace(['/', '.'], "_")), format!("../{target}")),
                (
                    format!("slash-{}", target.replace(['/', '.'], "_")),
                    format!("{}/", fixture.absolute(target)),
                ),
                (format!("dot-{}", target.replace(['/', '.'], "_")), format!("./a/../../{target}")),
                (
                    format!("long-{}", target.replace(['/', '.'], "_")),
                    format!("{}../{target}", "./".repeat(400)),
                ),
            ]
        })
        .collect();
    let rest = [
        "",
        "/",
        "/.",
        "/canary",
        "/deep/canary",
        "/../out/canary",
        "/new",
        "/deep/new/er",
        "//canary",
        "/./canary",
    ];
    for (name, target) in &targets {
        fixture.link(&format!("links/{name}"), link_target(target, 1))?;
        fixture.link(&format!("links/in/{name}"), link_target(target, 2))?;
        fixture.link(&format!("links/chain-{name}"), name)?;
        fixture.link(&format!("links/far-{name}"), fixture.inside(&format!("links/chain-{name}")))?;
        for rest in rest {
            for through in [format!("links/{name}"), format!("links/in/{name}"), format!("links/far-{name}")]
            {
                paths.refused.insert(format!("{through}{rest}"));
            }
            paths.refused.insert(format!("a/../links/chain-{name}{rest}"));
            paths.refused.insert(fixture.absolute(&format!("ws/links/{name}{rest}")));
        }
    }
    for length in [2, 10, 39, 40, 41, 60] {
        for step in 1..length {
            fixture.link(&format!("chains/{length}-{step}"), format!("{length}-{}", step - 1))?;
        }
        fixture.link(&format!("chains/{length}-0"), fixture.absolute("out"))?;
        paths.refused.insert(format!("chains/{length}-{}/canary", length - 1));
        paths.refused.insert(format!("chains/{length}-{}", length - 1));
    }
    fixture.link("circle/a", "b")?;
    fixture.link("circle/b", "a")?;
    fixture.link("circle/self", "self/x")?;
    fixture.link("circle/up", "../circle/up")?;
    for name in ["a", "b", "self", "up", "a/x", "self/x"] {
        paths.refused.insert(format!("circle/{name}"));
    }
    fs::hard_link(fixture.base.join("out/hard"), fixture.inside("hard")).map_err(text)?;
    debug_assert!(HARD.contains("hard"), "the edit of it must fit");
    for path in ["hard", "./hard", "a/../hard"] {
        paths.odd.insert(path.to_owned());
    }
    Ok(())
}

/// A relative link target, written for a link that is `below` directories under the workspace.
fn link_target(target: &str, below: usize) -> String {
    if Path::new(target).is_absolute() {
        target.to_owned()
    } else {
        format!("{}{target}", "../".repeat(below))
    }
}

/// Magic links of the kernel, below `/proc` itself and through links to it.
fn magic(fixture: &Fixture, paths: &mut Paths) -> Result<(), String> {
    let mut starts = Vec::new();
    let id = std::process::id();
    for process in [
        "self".to_owned(),
        "thread-self".to_owned(),
        id.to_string(),
        format!("{id}/task/{id}"),
        "1".to_owned(),
    ] {
        for link in ["root", "cwd/../../../../../../../../../..", "task/../root"] {
            starts.push(format!("/proc/{process}/{link}"));
        }
    }
    for (index, start) in starts.iter().enumerate() {
        fixture.link(&format!("magic/{index}"), start)?;
        for target in ["out/canary", "out", "out/deep/canary", "canary", "out/new", "ws-evil/canary"] {
            let absolute = fixture.absolute(target);
            paths.refused.insert(format!("{start}{absolute}"));
            paths.refused.insert(format!("{start}/.{absolute}"));
            paths.refused.insert(format!("magic/{index}{absolute}"));
            paths.refused.insert(format!("a/../magic/{index}/..{absolute}"));
        }
    }
    for path in [
        "/proc/self/exe",
        "/proc/self/root",
        "/proc/self/cwd",
        "/proc/self/fd/0",
        "/proc/self/root/etc/passwd",
        "/proc/self/ns/net",
    ] {
        paths.refused.insert(path.to_owned());
    }
    Ok(())
}

/// Pipes, sockets, devices, and directories in place of files.
fn special(fixture: &Fixture, paths: &mut Paths) -> Result<(), String> {
    let make = |name: &str, kind, device| {
        mknodat(CWD, fixture.inside(name), kind, Mode::from_raw_mode(0o666), device)
    };
    make("pipe", FileType::Fifo, 0).map_err(text)?;
    make("socket", FileType::Socket, 0).map_err(text)?;
    // Only root can create devices; without them the other paths are still tested.
    let devices = [("null", 3), ("zero", 5), ("full", 7), ("random", 8)];
    let made =
        devices.iter().all(|(name, minor)| make(name, FileType::CharacterDevice, makedev(1, *minor)).is_ok());
    let mut names = vec!["pipe", "socket"];
    if made {
        names.extend(devices.iter().map(|(name, _)| *name));
    } else {
        println!("not root: no devices among the hostile paths");
    }
    for name in names {
        fixture.link(&format!("to-{name}"), name)?;
        fixture.link(&format!("abs-to-{name}"), fixture.inside(name))?;
        for path in [
            name.to_owned(),
            format!("./{name}"),
            format!("a/../{name}"),
            format!("to-{name}"),
            format!("abs-to-{name}"),
            format!("{name}/"),
            format!("{name}/x"),
        ] {
            paths.refused.insert(path);
        }
    }
    Ok(())
}

/// Names that look like something else. A tool either uses them as plain names in the workspace or refuses
/// them.
fn odd(fixture: &Fixture, paths: &mut Paths) -> Result<(), String> {
    let dots = [
        "..\u{2215}",
        "\u{ff0e}\u{ff0e}/",
        "\u{2024}\u{2024}/",
        "\u{2025}/",
        "..\u{200b}/",
        "\u{200b}../",
        ".\u{200d}./",
        "..\u{ad}/",
        "..%2f",
        "%2e%2e/",
        "%2e%2e%2f",
        "..%252f",
        "..\\",
        "..\\/",
        " ../",
        ".. /",
        "..\t/",
        "\u{202e}../",
        "..\u{0301}/",
        "...//",
        ".../",
        "..;/",
        "..%00/",
        "..%c0%af",
        "\u{feff}../",
        "file:../",
        "file://",
        "~root/",
        "$HOME/",
        "${PWD}/../",
        "`pwd`/",
        "a\n../",
        "-/../a/",
        "\u{ff0f}",
        "\\\\?\\",
        "C:\\",
        "CON/",
        "..::$DATA/",
        "..\u{2044}",
        "..\u{29f8}",
    ];
    for dots in dots {
        for target in TARGETS.iter().filter(|target| !target.is_empty()) {
            for repeat in [1, 2] {
                paths.odd.insert(format!("{}{target}", dots.repeat(repeat)));
            }
        }
    }
    let base = fixture.absolute("");
    for target in [
        "ws/../OUT/Canary",
        "WS/../out/canary",
        "wS/canary",
        "Ws/canary",
        "ws\u{0301}/canary",
        "ws /canary",
        "ws./canary",
        "w\u{ff53}/canary",
    ] {
        paths.refused.insert(format!("{base}{target}"));
    }
    for path in ["", "\0", "a\0", "../out/canary\0", "\0../out/canary", "~", "~/x"] {
        paths.refused.insert(path.to_owned());
    }
    for length in [255, 256, 4_095, 4_096, 5_000, 70_000] {
        let path = "n".repeat(length);
        if length > 255 {
            paths.refused.insert(path)
        } else {
            paths.odd.insert(path)
        };
        paths.refused.insert(format!("{}../out/canary", "d/".repeat(length)));
        paths.refused.insert(format!("{}../../out/canary", "./".repeat(length)) + "x/y");
    }
    Ok(())
}
