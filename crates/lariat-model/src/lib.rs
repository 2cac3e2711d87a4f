//! Model APIs.
