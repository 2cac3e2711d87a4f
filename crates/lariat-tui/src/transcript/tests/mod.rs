//! Tests of the transcript as a whole.

mod blocks;
mod hostile;
mod printing;
mod sample;
mod screens;
mod speed;
