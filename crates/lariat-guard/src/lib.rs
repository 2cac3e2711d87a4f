//! Decides who may do what. Acts on nothing: what is decided here is enforced by the host's sandbox.
//!
//! A call is judged from its words alone: a shell command is read by [`shell`], never executed to find out. What cannot
//! be judged is asked, never allowed.

pub mod shell;
