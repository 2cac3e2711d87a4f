//! Files by directory handle.
//!
//! Owns how a path that a model wrote becomes a file: [`Workspace`] holds open directories ([`Root`]), and every
//! operation resolves beneath one of them in the kernel (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`).
//! Text of paths is never compared to decide whether something is inside.
//!
//! Invariant: no operation of this module opens, creates, changes or removes anything outside of its roots, whatever
//! other processes do to the directories meanwhile.
