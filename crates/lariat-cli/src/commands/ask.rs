//! A question that is answered with yes or no.

use std::io::{BufRead as _, Write as _};

use crate::exit::Exit;
use crate::problem::Problem;
use crate::world::World;

/// Whether to go on. Without anybody to ask, nothing is done.
pub(crate) fn whether(world: &World, question: &str, yes: bool) -> Result<bool, Problem> {
    if yes {
        return Ok(true);
    }
    if !world.is_attended() {
        return Err(Problem::new(Exit::Usage, "nobody is there to be asked, so nothing was done")
            .next("look at what is shown above, then add --yes"));
    }
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
