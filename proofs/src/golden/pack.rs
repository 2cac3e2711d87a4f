//! Packs the files of a directory into one compressed file and unpacks them.
//!
//! Each file is a line with its length and its name, then its bytes. Names are relative, with `/`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

fn failed(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// The files below a directory, sorted by name, with the locks of writers left out.
fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut pending) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory).map_err(failed(&directory))? {
            let path = entry.map_err(failed(&directory))?.path();
            let is_lock =
                path.to_string_lossy().ends_with(".lock") || path.to_string_lossy().ends_with(".locks");
            if is_lock {
                continue;
            }
            if path.is_dir() {
                pending.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Packs a directory.
pub(super) fn pack(root: &Path) -> Result<Vec<u8>, String> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    for path in files(root)? {
        let bytes = std::fs::read(&path).map_err(failed(&path))?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let head = format!("{} {name}\n", bytes.len());
        out.write_all(head.as_bytes()).and_then(|()| out.write_all(&bytes)).map_err(failed(&path))?;
    }
    out.finish().map_err(failed(root))
}

/// Unpacks into a directory.
pub(super) fn unpack(packed: &[u8], root: &Path) -> Result<(), String> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).map_err(failed(root))?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let cut = "the packed file is cut";
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(cut)?;
        let (head, after) = rest.split_at_checked(end + 1).ok_or(cut)?;
        let head = std::str::from_utf8(head).map_err(|error| error.to_string())?.trim_end();
        let (length, name) = head.split_once(' ').ok_or(cut)?;
        let length: usize = length.parse().map_err(|_| format!("no length: {head}"))?;
        let (content, after) = after.split_at_checked(length).ok_or(cut)?;
        let path = root.join(name);
        let parent = path.parent().unwrap_or(root);
        std::fs::create_dir_all(parent).map_err(failed(parent))?;
        std::fs::write(&path, content).map_err(failed(&path))?;
        rest = after;
    }
    Ok(())
}
