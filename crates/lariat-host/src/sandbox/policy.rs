//! What a command may reach, as data.
//!
//! Owns the defaults: everything is readable but the places of keys, the workspace is writable but for the paths that
//! steer agents and tools, the network is off. Paths are absolute; what of them exists is found out at each start.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::places::{HIDDEN, PROTECTED, STARTS_UP};

/// What a command may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Directories and files that may be changed.
    pub writable: Vec<PathBuf>,
    /// Paths beneath those that may not be changed, nor created where they do not exist.
    pub protected: Vec<PathBuf>,
    /// Paths that may not even be read.
    pub hidden: Vec<PathBuf>,
    /// What may be read besides the system's programs and libraries and what is writable; everything when there is no
    /// list.
    pub readable: Option<Vec<PathBuf>>,
    /// The network.
    pub network: Network,
    /// Sockets of other programs on this machine: the Docker daemon's, for example.
    pub local_sockets: LocalSockets,
    /// What `/tmp` is for the command: a directory of its own.
    pub temporary: Option<PathBuf>,
    /// Bytes of memory that each process may have.
    pub memory: Option<u64>,
    /// Bytes of memory that all processes of a command may have together, where control groups can be made.
    pub memory_of_all: Option<u64>,
    /// Processes that may exist at a time.
    pub processes: Option<u64>,
}

/// What a command may reach of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// Nothing but a loopback interface of its own.
    Off,
    /// These, through our proxy.
    Only(Vec<Destination>),
    /// All of it.
    On,
}

/// Whether a command may speak to other programs on this machine through sockets in the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSockets {
    /// It may not. It cannot make such sockets for itself either.
    Refused,
    /// It may.
    Allowed,
}

/// Where a command may connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// A host name, or `*.` and a domain for every name below it.
    pub host: String,
    /// A port; any when there is none.
    pub port: Option<u16>,
}

impl Destination {
    /// Any port of a host.
    pub fn host(host: impl Into<String>) -> Self {
        Self { host: host.into(), port: None }
    }

    /// True when this names that host and port. Names compare without case and without a final dot.
    pub fn admits(&self, host: &str, port: u16) -> bool {
        let plain = |name: &str| name.trim_end_matches('.').to_ascii_lowercase();
        let (host, known) = (plain(host), plain(&self.host));
        let named = match known.strip_prefix("*.") {
            Some(domain) => {
                host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            None => host == known,
        };
        named && self.port.is_none_or(|known| known == port)
    }
}

impl Policy {
    /// The default for a workspace: it is writable but for what steers agents, keys below `home` are hidden, the
    /// network is off.
    pub fn workspace(workspace: &Path, home: Option<&Path>) -> Self {
        let below = |home: Option<&Path>, names: &[&str]| -> Vec<PathBuf> {
            home.map(|home| names.iter().map(|name| home.join(name)).collect()).unwrap_or_default()
        };
        let mut protected: Vec<PathBuf> = PROTECTED.iter().map(|name| workspace.join(name)).collect();
        // A workspace that holds the home directory holds what starts up, too, and keys that are not there yet.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let held = home.filter(|home| real(home).starts_with(real(workspace)));
        protected.extend(below(held, STARTS_UP));
        protected.extend(below(held, HIDDEN));
        Self {
            writable: vec![workspace.to_owned()],
            protected,
            hidden: below(home, HIDDEN),
            readable: None,
            network: Network::Off,
            local_sockets: LocalSockets::Refused,
            temporary: None,
            memory: None,
            memory_of_all: None,
            processes: Some(4096),
        }
    }

    /// For one tenant of many: a command sees its workspace, the system's programs and libraries, and what
    /// [`with_readable`](Self::with_readable) adds. Everything else is not there.
    ///
    /// ```
    /// use std::path::Path;
    /// use lariat_host::sandbox::Policy;
    ///
    /// let policy = Policy::isolated(Path::new("/srv/tenants/a")).with_readable(["/opt/toolchain"]);
    /// assert_eq!(policy.readable, Some(vec!["/opt/toolchain".into()]));
    /// ```
    pub fn isolated(workspace: &Path) -> Self {
        Self { readable: Some(Vec::new()), ..Self::workspace(workspace, None) }
    }

    /// Adds paths that may be read. Where everything may be read already, that stays so.
    pub fn with_readable<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        if let Some(readable) = &mut self.readable {
            readable.extend(paths.into_iter().map(Into::into));
        }
        self
    }

    /// Sets how many bytes of memory each process may have.
    pub fn with_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = bytes;
        self
    }

    /// Nothing is writable: for plan mode.
    pub fn read_only(home: Option<&Path>) -> Self {
        let policy = Self::workspace(Path::new("/"), home);
        Self { writable: Vec::new(), protected: Vec::new(), ..policy }
    }

    /// Sets the network.
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Adds a writable root.
    pub fn with_writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// Sets the directory that is `/tmp` for commands.
    pub fn with_temporary(mut self, path: impl Into<PathBuf>) -> Self {
        self.temporary = Some(path.into());
        self
    }

    /// Whether `/tmp` is another one than ours.
    pub(crate) fn has_own_tmp(&self) -> bool {
        self.temporary.is_some() || self.readable.is_some()
    }

    /// Whether a path is protected, or lies in what is, also under a name that some file system takes for the same.
    pub(crate) fn protects(&self, path: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt as _;
        self.protected.iter().any(|root| {
            let (Some(parent), Some(known)) = (root.parent(), root.file_name()) else { return false };
            let below = path.strip_prefix(parent).ok().and_then(|rest| rest.iter().next());
            below.is_some_and(|name| {
                crate::sys::maker::is_name(&known.as_bytes().to_ascii_lowercase(), name.as_bytes())
            })
        })
    }

    /// Why a path may not be written; `None` where it may.
    pub(crate) fn refuses_write(&self, path: &Path) -> Option<super::Rule> {
        let beneath = |roots: &[PathBuf]| roots.iter().find(|root| path.starts_with(root)).cloned();
        if let Some(root) = beneath(&self.protected) {
            return Some(super::Rule::Protected(root));
        }
        let private = ["/dev", "/proc"].iter().any(|own| path.starts_with(own));
        let temporary = self.has_own_tmp() && path.starts_with("/tmp");
        (!private && !temporary && beneath(&self.writable).is_none()).then_some(super::Rule::NotWritable)
    }
}

/// True for an address that is not out on the internet: this machine, its networks, and the addresses at which clouds
/// hand out credentials.
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || a == 0
                || a >= 240
                // Carrier-grade NAT, where one cloud keeps its metadata service, and benchmarking networks.
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (18..20).contains(&b))
                || (a == 192 && b == 0)
        }
        IpAddr::V6(v6) => {
            if let Some(v4) = v6.to_ipv4_mapped() {
                return is_internal(IpAddr::V4(v4));
            }
            let [first, second, ..] = v6.segments();
            let embedded = |high: u16, low: u16| {
                let [a, b] = high.to_be_bytes();
                let [c, d] = low.to_be_bytes();
                is_internal(IpAddr::from([a, b, c, d]))
            };
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || (first & 0xfe00) == 0xfc00
                || (first & 0xffc0) == 0xfe80
                || (first & 0xffc0) == 0xfec0
                || (first == 0x2001 && second == 0xdb8)
                // NAT64 and 6to4 carry an IPv4 address inside.
                || (first == 0x64 && second == 0xff9b && {
                    let [.., high, low] = v6.segments();
                    embedded(high, low)
                })
                || (first == 0x2002 && {
                    let [_, high, low, ..] = v6.segments();
                    embedded(high, low)
                })
                || v6.segments().iter().take(6).all(|part| *part == 0)
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
