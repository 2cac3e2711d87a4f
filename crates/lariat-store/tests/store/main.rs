//! Every store against one suite, and what is special about each.

mod corrupt;
mod jsonl;
mod postgres;
mod sqlite;
