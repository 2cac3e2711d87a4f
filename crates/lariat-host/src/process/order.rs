//! What a program is started with, as data: made here, carried out here or by a keeper.
//!
//! Owns the one way by which programs are started: [`Order::carry_out`].

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use serde::{Deserialize, Serialize};

use super::launch::{Launch, Output};
use crate::sandbox::Confinement;
use crate::sys::child::{Held, Plan};

/// A program to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    plan: Plan,
}

/// The descriptors that go with an order.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// Standard input, output and error.
    pub(super) standard: [OwnedFd; 3],
    /// What is held until the program starts, or by its warden.
    pub(super) held: Held,
}

/// What remains of a confinement when its walls went into an order.
pub(super) struct Beside {
    pub(super) guard: Option<crate::sandbox::Guard>,
    /// Whether another program starts the command.
    pub(super) wrapped: bool,
}

impl Order {
    /// The order of a launch.
    pub(super) fn new(launch: &Launch, confinement: Option<Confinement>) -> io::Result<(Self, Beside)> {
        let mut arguments = Vec::new();
        let mut program = launch.environment.find(&launch.program).into_os_string();
        let mut variables: Vec<(OsString, OsString)> =
            launch.environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (mut walls, mut beside) = (None, Beside { guard: None, wrapped: false });
        if let Some(confinement) = confinement {
            if let Some(wrapper) = confinement.wrapper {
                arguments = wrapper.arguments;
                arguments.push(std::mem::replace(&mut program, wrapper.program.into_os_string()));
                variables.retain(|(name, _)| !crate::sandbox::steers_loader(name));
                beside.wrapped = true;
            }
            variables.extend(confinement.variables);
            (walls, beside.guard) = (Some(confinement.walls), Some(confinement.guard));
        }
        arguments.extend(launch.arguments.iter().cloned());
        let plan = Plan {
            directory: CString::new(launch.directory.as_os_str().as_encoded_bytes())?,
            terminal: matches!(launch.output, Output::Terminal(_)),
            limits: beside.guard.as_ref().map(|guard| guard.limits.clone()).unwrap_or_default(),
            walls,
        };
        Ok((Self { program, arguments, variables, plan }, beside))
    }

    /// Whether a line to the warden goes with it.
    pub(super) fn has_maker(&self) -> bool {
        self.plan.walls.as_ref().is_some_and(|walls| !walls.guarded.is_empty())
    }

    /// Starts the program, as a grandchild of this process; the child is its warden. Returns when the program itself has
    /// begun, or will not.
    ///
    /// # Errors
    /// What the kernel refused. The stage was told over the lifeline.
    #[expect(clippy::disallowed_methods, reason = "this is the host, and the one place that starts programs")]
    pub(super) fn carry_out(self, descriptors: Descriptors) -> io::Result<Child> {
        let [input, output, errors] = descriptors.standard;
        let mut command = std::process::Command::new(self.program);
        command.args(self.arguments).env_clear().envs(self.variables);
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        self.plan.attach(descriptors.held, &mut command);
        // With the command go our copies of the child's descriptors.
        command.spawn()
    }
}
