//! Defines what a command may access, as data.
//!
//! The defaults: everything is readable except where keys are kept; the workspace is writable except for paths that
//! control agents and tools; the network is disabled. Paths are absolute. Whether they exist is checked at each start.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use lariat_core::protected_names::{STARTUP, WORKSPACE};

use super::paths::{HIDDEN, HOME_PROGRAMS};

/// What a command may access.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Directories and files that the command may change.
    pub writable: Vec<PathBuf>,
    /// Paths beneath those that it may neither change nor create.
    pub protected: Vec<PathBuf>,
    /// Paths that it may not read.
    pub hidden: Vec<PathBuf>,
    /// Paths that it may read besides the system's programs and libraries and the writable paths; `None` means
    /// everything.
    pub readable: Option<Vec<PathBuf>>,
    /// Network access.
    pub network: Network,
    /// Sockets of other programs on this machine, such as the Docker daemon.
    pub local_sockets: LocalSockets,
    /// A private directory that the command sees as `/tmp`.
    pub temporary: Option<PathBuf>,
    /// Maximum memory of each process, in bytes.
    pub memory: Option<u64>,
    /// Maximum memory of all processes of a command together, in bytes, if control groups can be created.
    pub memory_of_all: Option<u64>,
    /// Maximum number of processes at a time.
    pub processes: Option<u64>,
}

/// Network access of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// Only a private loopback interface.
    Off,
    /// Only these destinations, through our proxy.
    Only(Vec<Destination>),
    /// Everything.
    On,
}

/// Whether a command may connect to other programs on this machine through local sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSockets {
    /// It may not, and cannot create such sockets for itself either.
    Refused,
    /// It may.
    Allowed,
}

fn below(home: Option<&Path>, names: &[&str]) -> Vec<PathBuf> {
    home.map(|home| names.iter().map(|name| home.join(name)).collect()).unwrap_or_default()
}

/// A host that a command may connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// A host name, or `*.` and a domain for all names below it.
    pub host: String,
    /// The port; `None` means any.
    pub port: Option<u16>,
}

impl Destination {
    /// Any port of a host.
    pub fn host(host: impl Into<String>) -> Self {
        Self { host: host.into(), port: None }
    }

    /// Whether this destination includes that host and port. Compares names without case and without a trailing dot.
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
    /// The default for a workspace: writable except for paths that control agents; keys below `home` are hidden; the
    /// network is disabled.
    pub fn workspace(workspace: &Path, home: Option<&Path>) -> Self {
        Self {
            writable: Vec::new(),
            protected: Vec::new(),
            hidden: below(home, HIDDEN),
            readable: None,
            network: Network::Off,
            local_sockets: LocalSockets::Refused,
            temporary: None,
            memory: None,
            memory_of_all: None,
            processes: Some(4096),
        }
        .with_workspace(workspace, home)
    }

    /// Adds a directory that is like the workspace: writable except for paths that control agents.
    #[must_use]
    pub fn with_workspace(mut self, workspace: &Path, home: Option<&Path>) -> Self {
        self.writable.push(workspace.to_owned());
        self.protected.extend(WORKSPACE.iter().map(|name| workspace.join(name)));
        // If the home directory is inside the workspace, also protect startup files and keys that do not exist yet.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let held = home.filter(|home| real(home).starts_with(real(workspace)));
        for names in [STARTUP, HOME_PROGRAMS, HIDDEN] {
            self.protected.extend(below(held, names));
        }
        self
    }

    /// For one tenant of many: a command sees only its workspace, the system's programs and libraries, and what
    /// [`with_readable`](Self::with_readable) adds.
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

    /// Adds readable paths. Has no effect if everything is readable.
    pub fn with_readable<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        if let Some(readable) = &mut self.readable {
            readable.extend(paths.into_iter().map(Into::into));
        }
        self
    }

    /// Sets the maximum memory of each process, in bytes.
    pub fn with_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = bytes;
        self
    }

    /// Allows no writes: for plan mode.
    pub fn read_only(home: Option<&Path>) -> Self {
        let policy = Self::workspace(Path::new("/"), home);
        Self { writable: Vec::new(), protected: Vec::new(), ..policy }
    }

    /// Sets network access.
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Adds a writable root.
    pub fn with_writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// Sets the directory that commands see as `/tmp`.
    pub fn with_temporary(mut self, path: impl Into<PathBuf>) -> Self {
        self.temporary = Some(path.into());
        self
    }

    /// Whether the command has a private `/tmp`.
    pub(crate) fn has_own_tmp(&self) -> bool {
        self.temporary.is_some() || self.readable.is_some()
    }

    /// Whether a path is protected or inside a protected one, also by a name that some file system treats as equal.
    pub(crate) fn protects(&self, path: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt as _;
        self.protected.iter().any(|root| {
            let (Some(parent), Some(known)) = (root.parent(), root.file_name()) else { return false };
            let below = path.strip_prefix(parent).ok().and_then(|rest| rest.iter().next());
            below.is_some_and(|name| {
                crate::sys::create::is_name(&known.as_bytes().to_ascii_lowercase(), name.as_bytes())
            })
        })
    }

    /// The rule that denies writing to a path; `None` if writing is allowed.
    pub(crate) fn write_denial(&self, path: &Path) -> Option<super::Rule> {
        let beneath = |roots: &[PathBuf]| roots.iter().find(|root| path.starts_with(root)).cloned();
        if let Some(root) = beneath(&self.protected) {
            return Some(super::Rule::Protected(root));
        }
        let private = ["/dev", "/proc"].iter().any(|own| path.starts_with(own));
        let temporary = self.has_own_tmp() && path.starts_with("/tmp");
        (!private && !temporary && beneath(&self.writable).is_none()).then_some(super::Rule::NotWritable)
    }
}

/// Whether an address is not on the public internet: this machine, its networks, and addresses where clouds serve
/// credentials.
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || v4 == AZURE_HOST
                || a == 0
                || a >= 240
                // Carrier-grade NAT, where one cloud has its metadata service, and benchmarking networks.
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (18..20).contains(&b))
                // Assignments of IETF protocols, where another cloud has its metadata service, and 6to4 relays.
                || (a, b, c) == (192, 0, 0)
                || (a, b, c) == (192, 88, 99)
        }
        IpAddr::V6(v6) => is_internal_v6(v6),
    }
}

/// Where Azure serves certificates and settings to its machines, although the address looks public.
const AZURE_HOST: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

fn is_internal_v6(v6: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_internal(IpAddr::from([a, b, c, d]))
    };
    match v6.segments() {
        // Mapped, NAT64 and 6to4 addresses contain an IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // Assignments of IETF protocols, among them Teredo, which hides an IPv4 address.
        [0x2001, 0..0x200, ..] => true,
        // Documentation.
        [0x2001, 0xdb8, ..] | [0x3fff, 0..0x1000, ..] => true,
        // Only this network is public.
        [first, ..] => first & 0xe000 != 0x2000,
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
