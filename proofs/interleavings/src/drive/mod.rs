//! The mailbox of a run, under the name of its module in `lariat-runtime`.

#[path = "../../../../crates/lariat-runtime/src/drive/mailbox.rs"]
mod mailbox;

pub(crate) mod scenarios;

/// What the mailbox takes from its crate.
mod command {
    /// Stands for the commands of the runtime, which the mailbox only carries.
    #[derive(Debug)]
    pub(crate) struct RunCommand;
}
