//! Bugs in what the commands besides `run` print, and their errors.
