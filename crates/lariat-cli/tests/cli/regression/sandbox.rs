//! Bugs in the sandbox, seen from outside of the program.
