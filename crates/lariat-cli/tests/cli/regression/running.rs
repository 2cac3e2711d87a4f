//! Bugs in a run on a terminal and in a pipe.
