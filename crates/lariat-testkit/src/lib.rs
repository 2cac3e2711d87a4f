//! lariat-testkit
