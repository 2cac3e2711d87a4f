//! Logs in to servers by OAuth 2.1, and keeps the tokens valid.
//!
//! - `endpoint`: requests for JSON with a size limit and a deadline, to `https` addresses and to this machine.
//! - `addresses`: which internal addresses a login may contact.
//! - `challenge`: what a server says when it refuses a request without a login.
//! - `discovery`: finds the authorization server of a service (RFC 9728, RFC 8414, OpenID Connect Discovery).
//! - `token`: requests tokens, and the record of a login that is stored.
//! - `server_login`: the login of one server: gives its token to requests and renews it.
//! - `redirect`: receives the redirect of the browser on this machine, or reads a pasted one.
//! - `flow`: one login of a user: registration, the address for the browser, the exchange of the code.
//!
//! Invariants: a token is sent only to the origin of the server that it was issued for, and to the authorization server that
//! issued it. No token appears in an error or in debug output.

mod addresses;
mod challenge;
mod discovery;
mod endpoint;
mod flow;
mod redirect;
mod server_login;
mod token;

pub use addresses::LoginAddresses;
pub(super) use challenge::Challenge;
pub use flow::{LoginOptions, McpLogin};
pub use server_login::{LoginStore, ServerLogin};
pub use token::LoginSummary;
