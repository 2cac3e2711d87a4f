//! Measures scans of large workspaces.

use std::fs;
use std::time::{Duration, Instant};

use lariat_host::files::Workspace;
use lariat_host::undo::{Undo, UndoLimits};

use crate::world::text;

/// Number of scans to take the median of.
const LOOKS: usize = 7;

/// Prints, for three sizes, the time of opening, of a checkpoint without changes and of a checkpoint of one
/// path.
pub(crate) fn run() -> Result<(), String> {
    for files in [1_000_usize, 10_000, 100_000] {
        let base = std::env::temp_dir().join(format!("lariat-undo-speed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        for number in 0..files {
            let folder = base.join(format!("ws/{}/{}", number / 1_000, number / 50 % 20));
            if number % 50 == 0 {
                fs::create_dir_all(&folder).map_err(text)?;
            }
            let content = format!("{number}\n").repeat(150);
            fs::write(folder.join(format!("file-{number}.txt")), content).map_err(text)?;
        }
        let workspace = Workspace::open(base.join("ws")).map_err(text)?;
        let begun = Instant::now();
        let undo = Undo::open(&workspace, base.join("undo"), UndoLimits::default()).map_err(text)?;
        let opened = begun.elapsed();
        let whole = median(|| undo.begin_call("whole").map_err(text))?;
        let single = median(|| undo.begin_call_on_paths("single", &["0/0/file-1.txt"]).map_err(text))?;
        let kept = undo.bytes();
        drop(undo);
        let begun = Instant::now();
        let undo = Undo::open(&workspace, base.join("undo"), UndoLimits::default()).map_err(text)?;
        let reopened = begun.elapsed();
        drop(undo);
        println!(
            "{files} files: first scan {:.1} ms ({kept} bytes kept), reopened {:.1} ms, checkpoint without changes {:.2} ms, of one path {:.3} ms",
            opened.as_secs_f64() * 1e3,
            reopened.as_secs_f64() * 1e3,
            whole.as_secs_f64() * 1e3,
            single.as_secs_f64() * 1e3,
        );
        fs::remove_dir_all(&base).map_err(text)?;
    }
    Ok(())
}

fn median(mut work: impl FnMut() -> Result<(), String>) -> Result<Duration, String> {
    // Warm up: the first scan reads files again that are too recent to trust their times.
    work()?;
    let mut times = Vec::new();
    for _ in 0..LOOKS {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(times.get(LOOKS / 2).copied().unwrap_or_default())
}
