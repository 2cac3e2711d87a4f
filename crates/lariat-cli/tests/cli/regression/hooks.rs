//! Bugs in hooks and imported sessions.
