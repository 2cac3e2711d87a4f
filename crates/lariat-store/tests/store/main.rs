//! Every store against the one contract, and each against what can happen to it alone.

mod postgres;
