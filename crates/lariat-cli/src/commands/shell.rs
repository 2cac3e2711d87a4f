//! `lariat completions` and `lariat man`: made from the arguments, so that they say what the program does.

use std::path::Path;

use clap::CommandFactory as _;
use clap_mangen::Man;

use super::Ended;
use super::print;
use crate::args::Args;
use crate::args::manage::{CompletionsArgs, ManArgs};
use crate::exit::{CODES, Exit};
use crate::files;
use crate::problem::Problem;

/// Prints completions for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Ended {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "lariat", &mut text);
    print::out(&String::from_utf8_lossy(&text));
    Ok(Exit::Done)
}

/// Prints the first page of the manual, or writes all of them.
pub(crate) fn man(args: &ManArgs) -> Ended {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let Some(dir) = &args.dir else {
        print::out(&String::from_utf8_lossy(&page(&command, true)?));
        return Ok(Exit::Done);
    };
    files::make(dir)?;
    let count = pages(&command, dir, true)?;
    print::note(&format!("{count} pages in {}", dir.display()));
    Ok(Exit::Done)
}

/// Writes a page for a command, and for every one below it.
fn pages(command: &clap::Command, dir: &Path, is_first: bool) -> Result<usize, Problem> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    files::overwrite(&dir.join(format!("{name}.1")), &page(command, is_first)?)?;
    let mut count = 1;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        count += pages(below, dir, false)?;
    }
    Ok(count)
}

fn page(command: &clap::Command, with_codes: bool) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    let man = Man::new(command.clone());
    man.render(&mut text).map_err(|error| Problem::new(Exit::Failed, format!("the manual: {error}")))?;
    if with_codes {
        text.extend_from_slice(b".SH \"EXIT STATUS\"\n");
        for (exit, meaning) in CODES {
            text.extend_from_slice(format!(".TP\n\\fB{}\\fR\n{meaning}\n", exit.code()).as_bytes());
        }
    }
    Ok(text)
}
