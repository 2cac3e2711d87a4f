//! Restricts what a command may access, enforced by the kernel.
//!
//! - [`Policy`]: readable, writable, protected and hidden paths, network, memory and processes. Plain data.
//! - [`Sandbox`]: a policy and a backend that was tested to enforce it ([`probe`](crate::sandbox_probe::probe)).
//! - [`Denial`]: what was denied to a command and by which rule; recorded when it happens, not guessed from output.
//!
//! Backends, in the order in which they are tried: `landlock` (this crate sets up the view of files and processes with
//! namespaces, and Landlock is a second layer; it is faster, and also controls named pipes) and `bubblewrap` (the
//! program sets up the view; for systems that let only known programs create namespaces). Both use the same seccomp
//! filter and the same network. If neither works, [`probe`](crate::sandbox_probe::probe) says why, and the caller must explicitly choose to run
//! unsandboxed. On macOS the same policy becomes a Seatbelt profile ([`seatbelt`]); Windows has no backend yet.
//!
//! Invariant: a sandboxed program writes only beneath writable roots, never to protected paths (even those that did not
//! exist), and sends nothing to the network that the policy does not allow. The sandbox itself never leaves anything in
//! the user's directories.

mod backend;
mod creation;
mod denial;
mod filter;
mod groups;
mod judge;
mod machine;
mod opening;
mod paths;
mod policy;
mod proxy;
pub mod seatbelt;
mod view;

pub use backend::{Backend, Sandbox};
pub(crate) use backend::{Confinement, ConfinementGuard, is_loader_variable};
pub use denial::{Denial, Rule};
pub(crate) use judge::SyscallJudge;
pub use machine::{is_writable, machine_memory};
pub use policy::{Destination, LocalSockets, Network, Policy, is_internal};
