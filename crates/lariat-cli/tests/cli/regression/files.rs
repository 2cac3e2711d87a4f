//! Bugs in file tools, patches and git.
