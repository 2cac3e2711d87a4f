//! Measures the disk usage of a directory.
//!
//! Invariant: a file with several hard links is counted once.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Size of the blocks in which the kernel reports usage, regardless of the file system.
const BLOCK: u64 = 512;

/// Disk usage in bytes. Entries that cannot be read or that disappear meanwhile are skipped: the figure is
/// informational.
pub(crate) fn usage(directory: PathBuf) -> u64 {
    let mut bytes = 0;
    let mut linked = HashSet::new();
    let mut pending = vec![directory];
    while let Some(directory) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                pending.push(entry.path());
            }
            if meta.is_dir() || meta.nlink() == 1 || linked.insert((meta.dev(), meta.ino())) {
                bytes += meta.blocks() * BLOCK;
            }
        }
    }
    bytes
}

/// Formats a size for display.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::{gigabytes, usage};

    #[test]
    fn counts_a_hard_linked_file_once() {
        let place = std::env::temp_dir().join(format!("xtask-disk-{}", std::process::id()));
        std::fs::create_dir_all(place.join("inner")).unwrap();
        let empty = usage(place.clone());
        std::fs::write(place.join("one"), vec![7; 1_000_000]).unwrap();
        let one = usage(place.clone());
        std::fs::hard_link(place.join("one"), place.join("inner/two")).unwrap();
        let two = usage(place.clone());
        std::fs::write(place.join("inner/three"), vec![7; 1_000_000]).unwrap();
        let three = usage(place.clone());
        std::fs::remove_dir_all(place).unwrap();
        assert!(one >= empty + 1_000_000 && three >= one + 1_000_000, "{empty} {one} {three}");
        assert_eq!(one, two);
    }

    #[test]
    fn formats_sizes_in_gigabytes() {
        assert_eq!(gigabytes(7_860_000_000), "7.9 GB");
    }
}
