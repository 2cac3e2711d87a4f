//! Limits the processes and memory of a whole command with control groups, where this process may create them.
//!
//! Creates groups next to its own, for both versions of the kernel's interface, and removes them. Where it cannot
//! create groups, only per-process limits remain; those do not apply to root.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The control groups of one command; dropping it removes them, unless processes are left in them.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    made: Vec<PathBuf>,
    join_files: Vec<OwnedFd>,
}

/// Controller, and its limit file in version 2 and version 1 of the interface.
const PROCESSES: (&str, &str, &str) = ("pids", "pids.max", "pids.max");
const MEMORY: (&str, &str, &str) = ("memory", "memory.max", "memory.limit_in_bytes");

impl Groups {
    /// Creates groups for as many of these limits as possible.
    pub(super) fn make(processes: Option<u64>, memory: Option<u64>) -> Self {
        let mut groups = Self::default();
        let Ok(own) = read(Path::new("/proc/self/cgroup")) else { return groups };
        let wanted = [(PROCESSES, processes), (MEMORY, memory)];
        let wanted: Vec<_> = wanted.into_iter().filter_map(|(limit, most)| Some((limit, most?))).collect();
        for ((controller, new, old), most) in wanted {
            for (parent, file) in places(&own, controller, new, old) {
                if groups.limit(&parent, file, most).is_ok() {
                    break;
                }
            }
        }
        groups
    }

    /// Takes the files through which a process joins the groups.
    pub(crate) fn join_files(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.join_files)
    }

    fn limit(&mut self, parent: &Path, file: &str, most: u64) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let group = parent.join(format!("lariat-{}-{number}", std::process::id()));
        rustix::fs::mkdir(&group, rustix::fs::Mode::from_raw_mode(0o755))?;
        self.made.push(group.clone());
        write(&group.join(file), most)?;
        let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
        let door = rustix::fs::open(group.join("cgroup.procs"), flags, rustix::fs::Mode::empty())?;
        self.join_files.push(door);
        Ok(())
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in &self.made {
            let _ = rustix::fs::rmdir(group);
        }
    }
}

/// Where a group with this controller may be created, according to `/proc/self/cgroup`.
fn places<'a>(own: &str, controller: &str, new: &'a str, old: &'a str) -> Vec<(PathBuf, &'a str)> {
    let lines = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        Some((parts.next()?, parts.next()?, parts.next()?.trim_start_matches('/')))
    });
    lines
        .filter_map(|(_, controllers, path)| {
            if controllers.is_empty() {
                Some((Path::new(MOUNT).join(path), new))
            } else if controllers.split(',').any(|known| known == controller) {
                Some((Path::new(MOUNT).join(controllers).join(path), old))
            } else {
                None
            }
        })
        .collect()
}

fn read(path: &Path) -> io::Result<String> {
    use std::io::Read;
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
    let mut text = String::new();
    std::fs::File::from(file).read_to_string(&mut text)?;
    Ok(text)
}

fn write(path: &Path, number: u64) -> io::Result<()> {
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
    rustix::io::write(&file, number.to_string().as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_both_versions_of_control_groups() {
        let own = "8:pids:/a\n4:memory:/b/c\n1:cpu,cpuacct:/\n0::/d\n";
        let found = places(own, "pids", "new", "old");
        let expected = [("/sys/fs/cgroup/pids/a", "old"), ("/sys/fs/cgroup/d", "new")];
        assert_eq!(found, expected.map(|(path, file)| (PathBuf::from(path), file)));
    }
}
