//! Turns a policy into restrictions for a command, by one of the available backends.
//!
//! Both backends use the same seccomp filter, network namespace and judge. They differ in who sets up the view of files
//! and processes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::creation::CreationRules;
use super::filter::{self, FilterParts};
use super::groups::Groups;
use super::judge::SyscallJudge;
use super::paths::{SYSTEM, SYSTEM_FILES};
use super::policy::{LocalSockets, Network, Policy};
use super::view;
use crate::sys::child::{Identity, Limit, NetworkView, PROXY_PORT, Restrictions};

/// What enforces a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The program `bwrap` at this path.
    Bubblewrap(PathBuf),
    /// Namespaces that this crate creates itself, with Landlock as a second layer.
    Landlock,
}

impl Backend {
    /// The name for users.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }
}

/// A policy and the backend that enforces it. Clones share the policy.
#[derive(Clone, Debug)]
pub struct Sandbox {
    pub(super) policy: Arc<Policy>,
    pub(super) backend: Backend,
}

/// How one command is confined.
pub(crate) struct Confinement {
    /// The restrictions that the child applies to itself.
    pub(crate) restrictions: Restrictions,
    /// A program that starts the command inside a sandbox.
    pub(crate) wrapper: Option<Wrapper>,
    /// Additional environment variables of the command.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// What this process keeps until the command ended.
    pub(crate) guard: ConfinementGuard,
}

/// A program that starts the command; the command follows its arguments.
pub(crate) struct Wrapper {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

/// What must stay alive while a command runs.
pub(crate) struct ConfinementGuard {
    pub(crate) judge: Arc<SyscallJudge>,
    pub(crate) limits: Vec<(Limit, u64)>,
    pub(crate) groups: Groups,
    /// The supervisor process's side of the socket for creation requests; passed to the child.
    pub(crate) creation_socket: Option<std::os::fd::OwnedFd>,
}

impl ConfinementGuard {
    /// Keeps only the control groups, which must exist as long as a process is in them.
    pub(crate) fn into_groups(self) -> Groups {
        self.groups
    }
}

impl Sandbox {
    /// Creates a sandbox with a backend that [`probe`](crate::sandbox_probe::probe) found.
    pub fn new(policy: Policy, backend: Backend) -> Self {
        Self { policy: Arc::new(policy), backend }
    }

    /// The same sandbox without network and without write access, except for the command's own temporary directory.
    pub fn read_only(&self) -> Self {
        let mut policy = (*self.policy).clone();
        // Keep the writable roots as protected paths: otherwise a private `/tmp` would hide a workspace inside it.
        policy.protected.clone_from(&policy.writable);
        policy.network = Network::Off;
        Self { policy: Arc::new(policy), backend: self.backend.clone() }
    }

    /// The policy that is enforced.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The backend that enforces it.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Confines a command that starts in `directory` with the environment variables `variables`.
    pub(crate) fn confine<'a>(
        &self,
        directory: &Path,
        variables: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> io::Result<Confinement> {
        let mut policy = self.resolved_policy()?;
        let judged = Arc::new(policy.clone());
        let creation = if self.backend == Backend::Landlock {
            CreationRules::of(&policy)
        } else {
            CreationRules::default()
        };
        // A link is covered by a mount of itself; its target is on the list as well.
        let (links, protected) = policy.protected.into_iter().partition(|path| path.is_symlink());
        policy.protected = protected;
        let (wrapper, view, starts) = match &self.backend {
            Backend::Bubblewrap(program) => {
                let arguments = bubblewrap(&policy, directory, variables);
                // The wrapper is started first, then the command.
                (Some(Wrapper { program: program.clone(), arguments }), None, 2)
            }
            Backend::Landlock => (None, Some(view::steps(&policy, &creation.inner)?), 0),
        };
        let network = match policy.network {
            Network::Off => NetworkView::Own,
            Network::Only(_) => NetworkView::Proxied,
            Network::On => NetworkView::Shared,
        };
        let parts = FilterParts {
            local_sockets: policy.local_sockets == LocalSockets::Refused,
            starts: wrapper.is_some(),
            watched: true,
        };
        let rules = if view.is_some() { landlock_rules(&policy, &creation)? } else { Vec::new() };
        let counted = policy.processes.filter(|_| has_namespace_process_limit());
        let processes = counted.map(|most| most.max(LEAST_PROCESSES).to_string().into_bytes());
        let filter = filter::program(parts);
        let links = links.iter().map(|link: &PathBuf| view::text(link)).collect::<io::Result<_>>()?;
        let mut judge = SyscallJudge::new(judged, starts);
        let mut creation_socket = None;
        if creation.needs_server() {
            let (creation, theirs) = creation.connect()?;
            judge = judge.with_creation(creation);
            creation_socket = Some(theirs);
        }
        let guarded = creation.guarded;
        let identity = Some(identity());
        let restrictions = Restrictions { identity, network, links, view, processes, rules, guarded, filter };
        let limits = [(Limit::Memory, policy.memory), (Limit::Processes, policy.processes)];
        let guard = ConfinementGuard {
            judge: Arc::new(judge),
            limits: limits.into_iter().filter_map(|(limit, most)| Some((limit, most?))).collect(),
            // Joining a control group takes longer than everything else, so it is avoided if another limit works.
            groups: Groups::make(
                policy.processes.filter(|_| counted.is_none() && is_root()),
                policy.memory_of_all,
            ),
            creation_socket,
        };
        Ok(Confinement { restrictions, wrapper, variables: proxy_variables(&policy.network), guard })
    }

    /// Returns the policy with links resolved as of now, because mounts cover the target of a link.
    fn resolved_policy(&self) -> io::Result<Policy> {
        let mut policy = (*self.policy).clone();
        for root in &mut policy.writable {
            *root = root.canonicalize()?;
        }
        let protected = std::mem::take(&mut policy.protected);
        for path in protected.into_iter().flat_map(with_link_targets) {
            if !policy.protected.contains(&path) {
                policy.protected.push(path);
            }
        }
        // A link that leads outside the writable roots leads to a read-only path anyway.
        let writable = policy.writable.clone();
        policy.protected.retain(|path| writable.iter().any(|root| path.starts_with(root)));
        if let Some(temporary) = &mut policy.temporary {
            *temporary = temporary.canonicalize()?;
        }
        policy.hidden = policy.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        policy.hidden.sort();
        policy.hidden.dedup();
        // A workspace inside a hidden path must stay visible.
        policy.hidden.retain(|path| !writable.iter().any(|root| root.starts_with(path)));
        // A hidden directory hides everything below it.
        let folders: Vec<PathBuf> = policy.hidden.iter().filter(|path| path.is_dir()).cloned().collect();
        let below = |path: &PathBuf| folders.iter().any(|folder| folder != path && path.starts_with(folder));
        policy.hidden.retain(|path| !below(path));
        if let Some(readable) = &mut policy.readable {
            *readable = readable.iter().filter_map(|path| path.canonicalize().ok()).collect();
            let seen = readable.iter().chain(&writable).cloned().collect::<Vec<_>>();
            policy.hidden.retain(|path| seen.iter().any(|root| path.starts_with(root)));
        }
        if policy.temporary.is_some() {
            // A private `/tmp` hides everything in the real one.
            let seen = |path: &PathBuf| writable.iter().any(|root| path.starts_with(root));
            policy.hidden.retain(|path| !path.starts_with("/tmp") || seen(path));
        }
        Ok(policy)
    }
}

/// Maximum number of links to follow, as in the kernel.
const LINKS: usize = 40;

/// A path and, if it is a link, its target, and so on. If a target is missing, returns the first missing directory on
/// the way to it: if that cannot be created, nothing below it can.
fn with_link_targets(path: PathBuf) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut next = Some(path);
    while let Some(path) = next.take().filter(|_| all.len() < LINKS) {
        let missing = path.ancestors().take_while(|path| path.symlink_metadata().is_err()).last();
        let path = missing.map(Path::to_owned).unwrap_or(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { break };
        let Ok(parent) = parent.canonicalize() else { break };
        let path = parent.join(name);
        next = path.read_link().ok().map(|target| without_dots(&parent.join(target)));
        all.push(path);
    }
    all
}

/// Removes `.` and `..` from the text of a path. Where `..` follows a link, the kernel may resolve it differently.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The smallest limit that the kernel accepts for a process-id namespace.
const LEAST_PROCESSES: u64 = 301;

/// Whether process-id namespaces have their own process limit: since Linux 6.14.
fn has_namespace_process_limit() -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}

/// Per-process limits do not apply to root.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn identity() -> Identity {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    Identity { users: format!("{user} {user} 1\n").into(), groups: format!("{group} {group} 1\n").into() }
}

fn proxy_variables(network: &Network) -> Vec<(OsString, OsString)> {
    if !matches!(network, Network::Only(_)) {
        return Vec::new();
    }
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
        .iter()
        .map(|name| (OsString::from(name), OsString::from(&proxy)))
        .chain([
            ("NO_PROXY".into(), "127.0.0.1,localhost,::1".into()),
            ("no_proxy".into(), "127.0.0.1,localhost,::1".into()),
        ])
        .collect()
}

/// Variables that control the dynamic loader and the C library. They are passed to the command, not to bubblewrap,
/// because anything bubblewrap loads runs before the sandbox exists.
pub(crate) fn is_loader_variable(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let starts: [&[u8]; 6] = [b"LD_", b"GLIBC_", b"GCONV_", b"MALLOC_", b"LOCPATH", b"NLSPATH"];
    starts.iter().any(|start| name.starts_with(start))
}

fn bubblewrap<'a>(
    policy: &Policy,
    directory: &Path,
    variables: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut say = |parts: &[&dyn AsRef<OsStr>]| {
        words.extend(parts.iter().map(|part| part.as_ref().to_owned()));
    };
    for flag in ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"] {
        say(&[&flag]);
    }
    say(&[&"--cap-drop", &"ALL"]);
    for (name, value) in variables.filter(|(name, _)| is_loader_variable(name)) {
        say(&[&"--setenv", &name, &value]);
    }
    match &policy.readable {
        None => say(&[&"--ro-bind", &"/", &"/"]),
        Some(readable) => {
            for path in SYSTEM.iter().map(|name| Path::new("/").join(name)) {
                match path.read_link() {
                    Ok(target) => say(&[&"--symlink", &target, &path]),
                    Err(_) => say(&[&"--ro-bind-try", &path, &path]),
                }
            }
            for path in SYSTEM_FILES.iter().map(Path::new) {
                if let Ok(real) = path.canonicalize() {
                    say(&[&"--ro-bind", &real, &path]);
                }
            }
            if policy.temporary.is_none() {
                say(&[&"--perms", &"1777", &"--tmpfs", &"/tmp"]);
            }
            for path in readable {
                say(&[&"--ro-bind", path, path]);
            }
        }
    }
    say(&[&"--dev", &"/dev", &"--proc", &"/proc"]);
    // Some files there, such as `core_pattern`, are writable for root's user id even inside the sandbox.
    say(&[&"--remount-ro", &"/proc"]);
    if let Some(temporary) = &policy.temporary {
        say(&[&"--bind", temporary, &"/tmp"]);
    }
    let mut roots = policy.writable.clone();
    roots.sort();
    for root in &roots {
        say(&[&"--bind", root, root]);
    }
    for path in policy.protected.iter().filter(|path| path.symlink_metadata().is_ok()) {
        say(&[&"--ro-bind", path, path]);
    }
    for path in &policy.hidden {
        if path.is_dir() {
            say(&[&"--perms", &"000", &"--tmpfs", path, &"--remount-ro", path]);
        } else {
            say(&[&"--ro-bind", &"/dev/null", path]);
        }
    }
    say(&[&"--chdir", &directory, &"--"]);
    words
}

/// The Landlock rules of a policy, by path as the command sees it: read everything, change what the policy allows.
fn landlock_rules(
    policy: &Policy,
    creation: &CreationRules,
) -> io::Result<Vec<(std::ffi::CString, crate::sys::child::Grant)>> {
    use crate::sys::child::Grant;
    let mut rules = vec![(PathBuf::from("/"), Grant::Read), (PathBuf::from("/dev"), Grant::Change)];
    rules.push((PathBuf::from("/proc"), Grant::Change));
    rules.extend(creation.rules.iter().cloned());
    if policy.has_own_tmp() {
        rules.push((PathBuf::from("/tmp"), Grant::Change));
    }
    rules
        .into_iter()
        .map(|(path, grant)| {
            use std::os::unix::ffi::OsStrExt;
            Ok((std::ffi::CString::new(path.as_os_str().as_bytes())?, grant))
        })
        .collect()
}
