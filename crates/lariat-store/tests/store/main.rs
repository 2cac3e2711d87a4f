//! Every store against the one contract.

mod jsonl;
