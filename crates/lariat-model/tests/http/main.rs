//! Tests the real client on real sockets: compression, connection reuse, proxies, certificates and dying
//! connections.

// `cfg(test)` tells the lints that test helpers may unwrap.
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod proxies;
#[cfg(test)]
mod raw_server;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod secrets;
