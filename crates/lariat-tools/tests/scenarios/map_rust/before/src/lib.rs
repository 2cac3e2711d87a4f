//! A library.
use std::fmt;

pub mod shapes;

/// A limit.
pub const LIMIT: usize = 10;

#[derive(Debug)]
pub struct Point<T> {
    pub x: T,
}

pub struct Pair(u8, u8);

pub enum Colour {
    Red,
    Green,
}

pub type Points = Vec<Point<f64>>;

pub trait Draw {
    fn draw(&self, on: &mut dyn fmt::Write) -> fmt::Result;

    fn twice(&self) -> Vec<Vec<u8>> {
        fn inner() {}
        Vec::new()
    }
}

impl<T: Clone> Draw for Point<T>
where
    T: Copy,
{
    fn draw(&self, on: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

macro_rules! square {
    ($x:expr) => { $x * $x };
}

pub async fn a_long_list_of_arguments(
    first: usize,
    second: &str,
) -> Result<(), fmt::Error> {
    let closure = |x: u8| x;
    Ok(())
}
