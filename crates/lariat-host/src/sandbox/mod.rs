//! The sandbox: what a command may reach, held by the kernel.
//!
//! - [`Policy`]: readable, writable, protected and hidden paths, the network, memory and processes. Plain data.
//! - [`Sandbox`]: a policy and a backend that was seen to hold it ([`probe`]).
//! - [`Denial`]: what a command was refused, and by which rule; seen where it was refused, not guessed from output.
//!
//! Backends, in the order they are tried: `landlock` (we make the view of files and processes with namespaces, and Landlock
//! is a second wall: quicker, and it holds named pipes too), `bubblewrap` (the program makes the view: for systems that let
//! only programs they know make namespaces). Both carry the same seccomp filter and the same network.
//! Where neither works, [`probe`] says why, and running without is the caller's explicit choice. On macOS the same
//! policy becomes a Seatbelt profile ([`seatbelt`]); Windows has no backend yet.
//!
//! Invariant: a program of a sandbox writes only beneath writable roots, never to protected paths (also those that did
//! not exist), and sends nothing to the network that the policy does not name. Nothing of the sandbox itself is ever seen
//! in the user's folders.

mod backend;
mod denial;
mod filter;
mod groups;
mod judge;
mod machine;
mod making;
mod opening;
mod places;
mod policy;
mod probe;
mod proxy;
pub mod seatbelt;
mod view;

pub use backend::{Backend, Sandbox};
pub(crate) use backend::{Confinement, Guard, steers_loader};
pub use denial::{Denial, Rule};
pub(crate) use judge::Judge;
pub use machine::{is_writable, machine_memory};
pub use policy::{Destination, LocalSockets, Network, Policy, is_internal};
pub use probe::{Found, NoSandbox, probe};
