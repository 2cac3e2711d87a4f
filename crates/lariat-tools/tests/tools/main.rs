//! The tools from outside: what a model sends, what it gets back, what the files are afterwards.

mod scenarios;
mod speed;
