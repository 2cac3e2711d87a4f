//! Bugs in rules, caps, flags, settings and trust.
