//! Bugs in shell commands that a rule or a mode would run without asking.
