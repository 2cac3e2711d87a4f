//! Programs that resist being killed.

use std::time::Duration;

use super::Ending;

pub(super) struct Program {
    pub(super) name: &'static str,
    /// The bash script.
    pub(super) text: &'static str,
    /// Whether its first process exits by itself.
    ends: bool,
    /// How long that takes at most.
    pub(super) own_time: Duration,
    /// Whether it keeps forking: only for supervisors that can end that.
    pub(super) multiplies: bool,
}

impl Program {
    /// Whether the program can be ended in this way.
    pub(super) fn can(&self, ending: Ending) -> bool {
        ending != Ending::Itself || self.ends
    }
}

const fn ends(name: &'static str, text: &'static str) -> Program {
    Program { name, text, ends: true, own_time: Duration::from_secs(1), multiplies: false }
}

const fn stays(name: &'static str, text: &'static str) -> Program {
    Program { name, text, ends: false, own_time: Duration::ZERO, multiplies: false }
}

pub(super) const PROGRAMS: &[Program] = &[
    ends("double fork", "( (sleep 60 &) & ) ; exit 0"),
    ends("session of its own", "setsid -f sleep 60; setsid sleep 60 & exit 0"),
    ends("double fork and session", "(setsid bash -c '(sleep 60 &) ; sleep 60' &) ; exit 0"),
    ends("ignores TERM in the background", "(trap '' TERM HUP INT QUIT; sleep 60; sleep 60) & exit 0"),
    ends("holds the pipe", "sleep 60 & echo started; exit 0"),
    ends("closes everything", "(exec <&- >&- 2>&-; setsid sleep 60) & exit 0"),
    ends("changes its name", "(exec -a '] S 1 ) (' sleep 60) & (exec -a '' sleep 60) & exit 0"),
    ends("stopped children", "sleep 60 & kill -STOP $!; setsid -f bash -c 'kill -STOP $$; sleep 60'; exit 0"),
    stays("ignores TERM", "trap '' TERM HUP INT QUIT; while :; do sleep 60; done"),
    stays(
        "ignores TERM everywhere",
        "trap '' TERM; for i in 1 2 3; do (trap '' TERM; sleep 60; sleep 60) & done; while :; do sleep 60; done",
    ),
    stays("prints without end", "yes"),
    stays(
        "prints without end and ignores TERM",
        "trap '' TERM; (trap '' TERM PIPE; exec yes) & while :; do echo x; done",
    ),
    stays("stops itself", "kill -STOP $$; sleep 60"),
    stays("stops itself after a fork", "(sleep 60 & kill -STOP $BASHPID; sleep 60) & kill -STOP $$"),
    stays("answers TERM with more", "trap 'setsid sleep 60 & sleep 60 &' TERM; while :; do sleep 1; done"),
    stays("a tree", "f() { [ $1 = 0 ] && exec sleep 60; f $(($1 - 1)) & f $(($1 - 1)) & wait; }; f 4"),
    stays(
        "a chain of sessions",
        "setsid bash -c 'setsid bash -c \"setsid sleep 60 & sleep 60\" & sleep 60' & sleep 60",
    ),
    stays("waits for input", "cat; sleep 60"),
    Program {
        name: "forks in a loop",
        text: "trap '' TERM; while :; do sleep 0.2 & sleep 0.01; done",
        ends: false,
        own_time: Duration::ZERO,
        multiplies: true,
    },
    Program {
        name: "forks and leaves",
        text: "export f='for i in 1 2 3 4 5 6 7 8 9; do setsid -f sleep 0.1; done; exec setsid -f bash -c \"$f\"'; bash -c \"$f\"; sleep 60",
        ends: false,
        own_time: Duration::ZERO,
        multiplies: true,
    },
];
