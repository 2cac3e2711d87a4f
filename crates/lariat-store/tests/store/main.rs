//! Every store against one suite, and what is special about each.

mod archive_file;
mod corrupt;
mod jsonl;
mod postgres;
mod regression;
mod sqlite;
