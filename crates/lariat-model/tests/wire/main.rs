//! The crate as seen from the wire: what goes out, and what is made of what comes in.

// `cfg(test)` tells the lints that helpers of tests may unwrap.
#[cfg(test)]
mod cassettes;
#[cfg(test)]
mod counting;
