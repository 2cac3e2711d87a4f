//! A second gate with more restrictions, for a sub-agent.

use std::sync::Arc;

use lariat_guard::{Layer, Mode};

use super::Gate;

impl Gate {
    /// Creates a gate with the rules that apply now, these rules and this mode, without hooks and claims. Use it with
    /// [`NarrowedPolicy`](crate::NarrowedPolicy), which asks both gates: alone, it could allow more than this one.
    #[must_use]
    pub fn restricted(&self, rules: Option<Layer>, mode: Option<Mode>) -> Self {
        let layers = self.current_layers().chain(rules).collect();
        let mut gate = Self::new(layers, self.trust, self.places.clone(), Arc::clone(&self.resolver));
        gate.confinement = self.confinement;
        gate.set_mode(mode.unwrap_or_else(|| self.mode()));
        gate
    }
}
