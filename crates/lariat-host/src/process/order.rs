//! Describes a program start as data, and executes it in this process or in a launch helper.
//!
//! All programs are started by [`LaunchOrder::spawn`].

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde::{Deserialize, Serialize};

use super::launch::{Launch, Output};
use crate::sandbox::Confinement;
use crate::sys::child::{HeldDescriptors, Plan};

/// A program to start, as data that can be sent to a launch helper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LaunchOrder {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    plan: Plan,
}

/// The descriptors that belong to an order.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// Standard input, output and error.
    pub(super) standard: [OwnedFd; 3],
    /// Descriptors for the child, used until the program starts or by its supervisor process.
    pub(super) held: HeldDescriptors,
}

/// Finds the program of a launch. Never uses a program by name from a directory that the launch can write to.
fn find(launch: &Launch) -> io::Result<PathBuf> {
    let mut written = vec![launch.directory.as_path()];
    if let Some(sandbox) = &launch.sandbox {
        written.extend(sandbox.policy().writable.iter().map(PathBuf::as_path));
    }
    launch.environment.find_outside(&launch.program, &written).ok_or_else(|| {
        let name = launch.program.to_string_lossy();
        let words = format!("`{name}` was not found in any PATH directory that the agent cannot write to");
        io::Error::new(io::ErrorKind::NotFound, words)
    })
}

/// What this process keeps of a confinement after its restrictions went into an order.
pub(super) struct LaunchContext {
    pub(super) guard: Option<crate::sandbox::ConfinementGuard>,
    /// Whether a wrapper program starts the command.
    pub(super) wrapped: bool,
}

impl LaunchOrder {
    /// Creates the order for a launch.
    pub(super) fn new(
        launch: &Launch,
        confinement: Option<Confinement>,
    ) -> io::Result<(Self, LaunchContext)> {
        let mut arguments = Vec::new();
        let mut program = find(launch)?.into_os_string();
        let mut variables: Vec<(OsString, OsString)> =
            launch.environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (mut restrictions, mut context) = (None, LaunchContext { guard: None, wrapped: false });
        if let Some(confinement) = confinement {
            if let Some(wrapper) = confinement.wrapper {
                arguments = wrapper.arguments;
                arguments.push(std::mem::replace(&mut program, wrapper.program.into_os_string()));
                variables.retain(|(name, _)| !crate::sandbox::is_loader_variable(name));
                context.wrapped = true;
            }
            variables.extend(confinement.variables);
            (restrictions, context.guard) = (Some(confinement.restrictions), Some(confinement.guard));
        }
        arguments.extend(launch.arguments.iter().cloned());
        let plan = Plan {
            directory: CString::new(launch.directory.as_os_str().as_encoded_bytes())?,
            terminal: matches!(launch.output, Output::Terminal(_)),
            limits: context.guard.as_ref().map(|guard| guard.limits.clone()).unwrap_or_default(),
            restrictions,
        };
        Ok((Self { program, arguments, variables, plan }, context))
    }

    /// Whether the mount socket to the supervisor process belongs to this order.
    pub(super) fn has_creation_socket(&self) -> bool {
        self.plan.restrictions.as_ref().is_some_and(|restrictions| !restrictions.guarded.is_empty())
    }

    /// Starts the program as a grandchild of this process; the child is its supervisor process. Returns when the
    /// program itself has started, or failed to.
    ///
    /// # Errors
    /// The kernel's error. The stage was reported over the control socket.
    #[expect(clippy::disallowed_methods, reason = "the only function that starts programs")]
    pub(super) fn spawn(self, descriptors: Descriptors) -> io::Result<Child> {
        let [input, output, errors] = descriptors.standard;
        let mut command = std::process::Command::new(self.program);
        command.args(self.arguments).env_clear().envs(self.variables);
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        self.plan.attach(descriptors.held, &mut command);
        // Dropping the command closes our copies of the child's descriptors.
        command.spawn()
    }
}
