//! A thread that keeps exchanging names of the workspace while something else happens.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::Fixture;

/// Does `work` while each pair of names is exchanged again and again. Also returns the number of exchanges.
pub(crate) fn during<T>(fixture: &Fixture, pairs: &[(&str, &str)], work: impl FnOnce() -> T) -> (T, u64) {
    let stop = AtomicBool::new(false);
    let swaps = AtomicU64::new(0);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (one, other) in pairs {
                    let (one, other) = (fixture.inside(one), fixture.inside(other));
                    if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
                        swaps.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    });
    (done, swaps.into_inner())
}
