//! Random actions on a workspace: tool calls, and changes that the user makes in between.
//!
//! There are few file names, so that actions often affect the same files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use lariat_test::SeededRandom;
use serde_json::{Value, json};

use crate::world::World;

const FOLDERS: &[&str] = &["a", "b", "b/c", "src", "src/deep", "empty", "empty/inner", "fresh", "fresh/er"];
const NAMES: &[&str] = &["one.txt", "two.txt", "x.sh", "data.bin", "link", "new.txt", "sp ace", "ü.txt"];
const WORDS: &[&str] = &["alpha", "beta", "gamma", "delta"];

/// A tool call.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// A file that must be read before the call.
    pub(crate) reads: Option<String>,
}

fn folder(random: &mut SeededRandom) -> &'static str {
    random.pick(FOLDERS).copied().unwrap_or("a")
}

fn word(random: &mut SeededRandom) -> &'static str {
    random.pick(WORDS).copied().unwrap_or("alpha")
}

fn file(random: &mut SeededRandom) -> String {
    if random.chance(8) {
        return "x.env".to_owned();
    }
    format!("{}/{}", folder(random), random.pick(NAMES).copied().unwrap_or("one.txt"))
}

/// A path that is a file, if one is found within a few attempts.
fn existing(random: &mut SeededRandom, world: &World) -> String {
    let mut path = file(random);
    for _ in 0..8 {
        if world.at(&path).is_file() {
            break;
        }
        path = file(random);
    }
    path
}

fn content(random: &mut SeededRandom) -> String {
    let lines = random.below(6);
    (0..lines).map(|_| format!("{} {}\n", word(random), random.below(1_000))).collect()
}

/// A random tool call.
pub(crate) fn call(random: &mut SeededRandom, world: &World) -> Call {
    let plain = |tool, arguments| Call { tool, arguments, reads: None };
    match random.below(10) {
        0 => {
            let path = file(random);
            let arguments = json!({ "path": path, "content": content(random) });
            Call { tool: "write_file", arguments, reads: Some(path) }
        }
        1 => {
            let path = existing(random, world);
            let (old, new) = (word(random), word(random));
            let arguments = json!({ "path": path, "old_string": old, "new_string": format!("{new}!"), "replace_all": true });
            plain("edit_file", arguments)
        }
        2 => plain("apply_patch", json!({ "patch": patch(random, world) })),
        _ => {
            let count = 1 + random.below(3);
            let lines: Vec<_> = (0..count).map(|_| command(random, world)).collect();
            plain("bash", json!({ "command": lines.join("\n") }))
        }
    }
}

fn patch(random: &mut SeededRandom, world: &World) -> String {
    let path = existing(random, world);
    let body = match random.below(4) {
        0 => format!("*** Add File: {}\n+{}\n", file(random), word(random)),
        1 => format!("*** Delete File: {path}\n"),
        2 => format!("*** Update File: {path}\n*** Move to: {}\n", file(random)),
        _ => {
            let text = fs::read_to_string(world.at(&path)).unwrap_or_default();
            let line = text.lines().next().unwrap_or("alpha");
            format!("*** Update File: {path}\n@@\n-{line}\n+{}\n", word(random))
        }
    };
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

fn command(random: &mut SeededRandom, world: &World) -> String {
    let (from, to) = (existing(random, world), file(random));
    let (here, there) = (folder(random), folder(random));
    let (old, new, number) = (word(random), word(random), random.below(1_000));
    match random.below(24) {
        0 => format!("rm -rf '{here}'"),
        1 => format!("rm -f '{from}'"),
        2 => format!("mv '{from}' '{to}'"),
        3 => format!("mv '{here}' '{there}'"),
        4 => format!("sed -i 's/{old}/{new}/' '{from}'"),
        5 => format!("echo '{new} {number}' >> '{to}'"),
        6 => format!("chmod {} '{from}'", ["600", "755", "444", "000", "711"][random.index(5)]),
        7 => format!("chmod {} '{here}'", ["700", "555", "755"][random.index(3)]),
        8 => format!("ln -sfn '../{from}' '{to}'"),
        9 => format!("mkdir -p '{here}/x/y'"),
        10 => "git checkout -q -f other".to_owned(),
        11 => "git checkout -q -f main".to_owned(),
        12 => "git stash -q -u".to_owned(),
        13 => "git stash pop -q".to_owned(),
        14 => format!("git checkout -q other -- a b; git mv -f '{from}' '{to}'"),
        // Other content of the same size, keeping the modification time.
        15 | 16 => format!(
            "t=$(stat -c %y '{from}'); printf '%d' {} | dd of='{from}' conv=notrunc bs=1 status=none; touch -d \"$t\" '{from}'",
            random.below(10)
        ),
        // A directory with the other name would be ignored by git.
        17 if to != "x.env" => format!("rm -rf '{to}'; mkdir -p '{to}'; echo {new} > '{to}/inside'"),
        18 => format!("rm -rf '{here}'; ln -s '{there}' '{here}'"),
        19 => format!("rm -rf '{here}'; echo {new} > '{here}'"),
        20 => format!("find '{here}' -type f -delete"),
        21 => format!("cp -a '{here}' '{there}/copy'"),
        22 => format!(
            "mkdir -p '{here}'; printf '\\377{number}' > \"{here}/$(printf 'n\\377')\"; rm -rf ignored; mkdir ignored"
        ),
        _ => format!("touch '{from}'; mkdir -p '{there}'; printf '{new} {number}\\n' > '{to}'"),
    }
}

/// A random change by the user.
pub(crate) fn user(random: &mut SeededRandom, world: &World) {
    let path = if random.chance(60) { existing(random, world) } else { file(random) };
    let place = world.at(&path);
    // Some of these fail, as they would for a real user.
    let _ = match random.below(8) {
        0 => fs::remove_file(&place),
        1 => fs::remove_dir_all(world.at(folder(random))),
        2 => fs::rename(&place, world.at(&file(random))),
        3 => fs::set_permissions(&place, fs::Permissions::from_mode(0o640)),
        4 => symlink("of the user", &place),
        5 => fs::create_dir_all(world.at(folder(random)).join("mine")),
        _ => {
            let _ = place.parent().map(fs::create_dir_all);
            fs::write(&place, format!("the user's {}\n", random.below(1_000)))
        }
    };
}
