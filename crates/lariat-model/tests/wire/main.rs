//! Tests the crate at the wire: the requests it sends and the events it makes of responses.

// `cfg(test)` tells the lints that test helpers may unwrap.
#[cfg(test)]
mod cassettes;
#[cfg(test)]
mod counting;
