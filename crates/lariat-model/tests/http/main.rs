//! The real client on real sockets: compression, reuse, proxies, certificates, and connections that die.

// `cfg(test)` tells the lints that helpers of tests may unwrap.
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod raw_server;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod secrets;
