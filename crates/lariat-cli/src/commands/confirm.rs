//! Asks the user a yes-or-no question.

use std::io::{BufRead as _, Write as _};

use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Returns whether the user confirms. Fails without a terminal, so that nothing happens unconfirmed.
pub(crate) fn confirm(env: &ProcessEnv, question: &str, yes: bool) -> Result<bool, Problem> {
    if yes {
        return Ok(true);
    }
    if !env.is_interactive() {
        return Err(Problem::new(Exit::Usage, "confirmation required, but there is no terminal to ask on")
            .hint("review the output above, then run again with --yes"));
    }
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
