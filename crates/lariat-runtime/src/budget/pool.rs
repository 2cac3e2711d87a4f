//! A budget pool that a parent and its children share.
//!
//! One lock protects the whole tree of pools, so that a reservation is made in every pool above it or in
//! none. A call that does not fit next to the active calls waits for them; if no call is active and something
//! is left, one call is admitted even if it may exceed the rest. The limits of a child are reserved for it in
//! the pools above, as far as available, until the child is dropped: for all others, this amount is used.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use lariat_core::budget::{BudgetLimits, BudgetScope, BudgetStatus, SpentAmounts};
use lariat_core::event::LimitKind;

/// A budget that several runs share. Cheap to clone; all clones are the same pool.
#[derive(Clone)]
pub struct BudgetPool(Arc<PoolHandle>);

/// A reference to a node of the tree. The node lives as long as a reference to it or to a node below it.
struct PoolHandle {
    tree: Arc<Mutex<PoolTree>>,
    node: usize,
    /// Keeps the pools above alive, because amounts are set aside there.
    _parent: Option<BudgetPool>,
}

#[derive(Default)]
struct PoolTree {
    nodes: Vec<Node>,
    /// Nodes that are no longer referenced.
    free: Vec<usize>,
    waiting: Vec<Waker>,
}

struct Node {
    parent: Option<usize>,
    limits: BudgetLimits,
    /// Whether the pool was made for a run of this process, so that it does not know what earlier processes spent.
    is_of_run: bool,
    spent: SpentAmounts,
    /// Reserved for active calls, in the units of [`LimitKind::ALL`].
    held: Amounts,
    /// Set aside for this pool in the pools above.
    reserved: Amounts,
    /// Claims of the pools below.
    set_aside: Amounts,
    /// The amount in the pools above that is neither spent nor held but reserved for this pool; included in
    /// the parent's `set_aside`.
    claim: Amounts,
}

/// Amounts in the units of [`LimitKind::ALL`].
type Amounts = [u64; 5];

/// The decision of a pool about a call.
enum PoolDecision {
    Fits,
    Wait,
    Refused(BudgetStatus),
}

/// The amount reserved for an active call. Returned to the pool if it is dropped without being settled.
#[must_use = "dropping a reservation returns it to the pool"]
pub struct Reservation {
    pool: BudgetPool,
    estimate: SpentAmounts,
    open: bool,
}

impl BudgetPool {
    /// Creates a pool with these limits.
    pub fn new(limits: BudgetLimits) -> Self {
        Self::with_spent(limits, SpentAmounts::default())
    }

    /// Creates a pool of which something was already spent.
    pub(crate) fn with_spent(limits: BudgetLimits, spent: SpentAmounts) -> Self {
        let tree = PoolTree { nodes: vec![Node { spent, ..Node::new(None, limits) }], ..PoolTree::default() };
        Self(Arc::new(PoolHandle { tree: Arc::new(Mutex::new(tree)), node: 0, _parent: None }))
    }

    /// Creates a child of this pool, with its own limits. What the child spends is also spent here. As much
    /// of its limits as is left here is reserved for it, until the last clone of it and of its own children
    /// is dropped.
    pub fn child(&self, limits: BudgetLimits) -> Self {
        self.open(limits, limits)
    }

    /// Creates a pool for a run and its sub-agents, which is below no other.
    pub(crate) fn of_run(limits: BudgetLimits) -> Self {
        Self::new(limits).for_run()
    }

    /// Creates a child of this pool, for a run and its sub-agents.
    pub(crate) fn child_of_run(&self, limits: BudgetLimits) -> Self {
        self.child(limits).for_run()
    }

    fn for_run(self) -> Self {
        if let Some(node) = self.lock().nodes.get_mut(self.0.node) {
            node.is_of_run = true;
        }
        self
    }

    /// Creates a child of this pool that may spend this much, without reserving any of it: siblings can spend the same
    /// budget at the same time, and the limits of this pool apply to all of them together.
    pub(crate) fn capped(&self, limits: BudgetLimits) -> Self {
        self.open(limits, BudgetLimits::none()).for_run()
    }

    fn open(&self, limits: BudgetLimits, reserved: BudgetLimits) -> Self {
        let node = self.lock().open(self.0.node, limits, reserved);
        Self(Arc::new(PoolHandle { tree: Arc::clone(&self.0.tree), node, _parent: Some(self.clone()) }))
    }

    /// Returns what this pool and all pools below it spent.
    pub fn spent(&self) -> SpentAmounts {
        self.lock().nodes.get(self.0.node).map(|node| node.spent).unwrap_or_default()
    }

    /// Whether money is limited, here or in a pool above.
    pub(super) fn caps_money(&self) -> bool {
        let tree = self.lock();
        tree.with_ancestors(self.0.node)
            .any(|at| tree.nodes.get(at).is_some_and(|node| node.limits.cost.is_some()))
    }

    /// Whether no calls are active.
    pub fn is_idle(&self) -> bool {
        self.lock().nodes.get(self.0.node).is_none_or(|node| node.held == [0; 5])
    }

    /// Adds what another process spent.
    pub(crate) fn spend(&self, spent: SpentAmounts) {
        self.0.change(|node| node.spent += spent);
    }

    /// Adds what a sub-agent spent before this pool existed, here and in the pools of the runs above, which began when it did or later. A pool
    /// that runs share does not count it again: it may have existed then.
    pub(crate) fn count_earlier(&self, spent: SpentAmounts) {
        self.0.update(|tree| {
            let path: Vec<usize> = tree.with_ancestors(self.0.node).collect();
            for at in path {
                match tree.nodes.get_mut(at).filter(|node| node.is_of_run) {
                    Some(node) => node.spent += spent,
                    None => break,
                }
            }
            tree.claim(self.0.node);
        });
    }

    /// Returns how much of each limit is used: of this pool or of one above it, whichever is closer to its
    /// limit.
    pub fn statuses(&self) -> Vec<BudgetStatus> {
        let tree = self.lock();
        let nearest = |kind| {
            let statuses =
                tree.with_ancestors(self.0.node).filter_map(|at| tree.nodes.get(at)?.status_of(kind));
            statuses.max_by_key(BudgetStatus::percent)
        };
        LimitKind::ALL.into_iter().filter_map(nearest).collect()
    }

    /// Extends the limits of this pool and of the pools above.
    pub fn extend(&self, more: &BudgetLimits) {
        self.0.change(|node| node.limits = node.limits.extended_by(more));
    }

    /// Reserves what a call may use; waits while active calls leave no room for it.
    ///
    /// # Errors
    /// The limit that is used up.
    pub async fn admit(&self, estimate: SpentAmounts) -> Result<Reservation, BudgetStatus> {
        poll_fn(|context| self.poll_admit(estimate, context)).await
    }

    /// Reserves what a call may use, without waiting.
    ///
    /// # Errors
    /// The limit that is used up, or would be if the active calls use what they reserved.
    pub fn try_admit(&self, estimate: SpentAmounts) -> Result<Reservation, BudgetStatus> {
        let mut tree = self.lock();
        match tree.check(self.0.node, &estimate) {
            PoolDecision::Fits => Ok(self.reserve(&mut tree, estimate)),
            PoolDecision::Refused(standing) => Err(standing),
            PoolDecision::Wait => {
                let full = |at: usize| tree.nodes.get(at)?.status_of(LimitKind::Tokens);
                let full = tree.with_ancestors(self.0.node).find_map(full);
                Err(full.unwrap_or(BudgetStatus::new(BudgetScope::Pool, LimitKind::Tokens, 0, 0)))
            }
        }
    }

    fn poll_admit(
        &self,
        estimate: SpentAmounts,
        context: &Context<'_>,
    ) -> Poll<Result<Reservation, BudgetStatus>> {
        let mut tree = self.lock();
        match tree.check(self.0.node, &estimate) {
            PoolDecision::Fits => Poll::Ready(Ok(self.reserve(&mut tree, estimate))),
            PoolDecision::Refused(standing) => Poll::Ready(Err(standing)),
            PoolDecision::Wait => {
                if !tree.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    tree.waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn reserve(&self, tree: &mut PoolTree, estimate: SpentAmounts) -> Reservation {
        tree.change(self.0.node, |node| node.change_held(&estimate, u64::saturating_add));
        Reservation { pool: self.clone(), estimate, open: true }
    }

    fn lock(&self) -> MutexGuard<'_, PoolTree> {
        self.0.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolTree {
    /// Iterates over a pool and the pools above it, up to the root.
    fn with_ancestors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let parent = |at: &usize| self.nodes.get(*at)?.parent;
        std::iter::successors(Some(node), parent)
    }

    /// Iterates over a pool and the pools above it, each with the amount set aside there for other children.
    fn path(&self, node: usize) -> impl Iterator<Item = (&Node, Amounts)> + '_ {
        let mut own: Amounts = [0; 5];
        self.with_ancestors(node).filter_map(move |at| {
            let node = self.nodes.get(at)?;
            let others = each(&node.set_aside, &own, u64::saturating_sub);
            own = node.claim;
            Some((node, others))
        })
    }

    fn check(&self, node: usize, estimate: &SpentAmounts) -> PoolDecision {
        let mut decision = PoolDecision::Fits;
        for (node, others) in self.path(node) {
            match node.check(estimate, &others) {
                PoolDecision::Refused(standing) => return PoolDecision::Refused(standing),
                PoolDecision::Wait => decision = PoolDecision::Wait,
                PoolDecision::Fits => {}
            }
        }
        decision
    }

    /// Adds a pool below another one, and reserves as much as is left there of what it wants.
    fn open(&mut self, parent: usize, limits: BudgetLimits, wanted: BudgetLimits) -> usize {
        let mut node = Node::new(Some(parent), limits);
        for (at, (kind, reserved)) in LimitKind::ALL.into_iter().zip(&mut node.reserved).enumerate() {
            let left = |(node, others): (&Node, Amounts)| node.remaining(kind, others.get(at).copied()?);
            let least = self.path(parent).filter_map(left).min();
            *reserved = wanted.cap(kind).unwrap_or_default().min(least.unwrap_or(u64::MAX));
        }
        let at = self.free.pop().unwrap_or(self.nodes.len());
        match self.nodes.get_mut(at) {
            Some(free) => *free = node,
            None => self.nodes.push(node),
        }
        self.claim(at);
        at
    }

    /// Removes a pool that is no longer referenced, and releases its reservation.
    fn close(&mut self, node: usize) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.reserved = [0; 5];
        }
        self.claim(node);
        self.free.push(node);
    }

    /// Changes a pool and the pools above it.
    fn change(&mut self, node: usize, mut change: impl FnMut(&mut Node)) {
        for at in self.with_ancestors(node).collect::<Vec<_>>() {
            if let Some(node) = self.nodes.get_mut(at) {
                change(node);
            }
        }
        self.claim(node);
    }

    /// Updates the claims of a changed pool and of the pools above it.
    fn claim(&mut self, node: usize) {
        for at in self.with_ancestors(node).collect::<Vec<_>>() {
            let Some(node) = self.nodes.get_mut(at) else { continue };
            let used = each(&node.held, &amounts(&node.spent), u64::saturating_add);
            let claim = each(&each(&node.reserved, &used, u64::saturating_sub), &node.set_aside, u64::max);
            let before = std::mem::replace(&mut node.claim, claim);
            let Some(parent) = node.parent.and_then(|at| self.nodes.get_mut(at)) else { continue };
            parent.set_aside =
                each(&each(&parent.set_aside, &claim, u64::saturating_add), &before, u64::saturating_sub);
        }
    }
}

fn amounts(spent: &SpentAmounts) -> Amounts {
    LimitKind::ALL.map(|kind| spent.amount(kind))
}

fn each(left: &Amounts, right: &Amounts, of: fn(u64, u64) -> u64) -> Amounts {
    let mut amounts = *left;
    amounts.iter_mut().zip(right).for_each(|(left, right)| *left = of(*left, *right));
    amounts
}

impl Node {
    fn new(parent: Option<usize>, limits: BudgetLimits) -> Self {
        let (spent, none) = (SpentAmounts::default(), [0; 5]);
        let is_of_run = false;
        Self { parent, limits, is_of_run, spent, held: none, reserved: none, set_aside: none, claim: none }
    }

    fn status_of(&self, kind: LimitKind) -> Option<BudgetStatus> {
        let cap = self.limits.cap(kind)?;
        Some(BudgetStatus::new(BudgetScope::Pool, kind, self.spent.amount(kind), cap))
    }

    /// Returns what is left after what is spent, held and set aside for others; `None` without a limit.
    fn remaining(&self, kind: LimitKind, others: u64) -> Option<u64> {
        let BudgetStatus { used, cap, .. } = self.status_of(kind)?;
        let held = LimitKind::ALL.into_iter().zip(self.held).find(|(of, _)| *of == kind);
        Some(cap.saturating_sub(used).saturating_sub(held?.1).saturating_sub(others))
    }

    fn check(&self, estimate: &SpentAmounts, others: &Amounts) -> PoolDecision {
        let mut decision = PoolDecision::Fits;
        for ((kind, held), others) in LimitKind::ALL.into_iter().zip(self.held).zip(others) {
            let Some(mut standing) = self.status_of(kind) else { continue };
            standing.used = standing.used.saturating_add(*others);
            let need = estimate.amount(kind);
            let fits = standing.used.saturating_add(held).saturating_add(need) <= standing.cap;
            match kind {
                // These are known exactly in advance.
                LimitKind::Turns | LimitKind::ToolCalls if !fits && need > 0 => {
                    return PoolDecision::Refused(standing);
                }
                LimitKind::Turns | LimitKind::ToolCalls => {}
                // A tool call uses no tokens and no money of its own.
                LimitKind::Tokens | LimitKind::Cost if estimate.tool_calls > 0 => {}
                _ if standing.used >= standing.cap => return PoolDecision::Refused(standing),
                _ if !fits && held > 0 => decision = PoolDecision::Wait,
                _ => {}
            }
        }
        decision
    }

    fn change_held(&mut self, estimate: &SpentAmounts, change: fn(u64, u64) -> u64) {
        self.held = each(&self.held, &amounts(estimate), change);
    }
}

impl PoolHandle {
    /// Changes this pool and the pools above it.
    fn change(&self, change: impl FnMut(&mut Node)) {
        self.update(|tree| tree.change(self.node, change));
    }

    /// Updates the tree, then wakes the waiting calls so that they try again.
    fn update(&self, update: impl FnOnce(&mut PoolTree)) {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        update(&mut tree);
        let waiting = std::mem::take(&mut tree.waiting);
        drop(tree);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Drop for PoolHandle {
    fn drop(&mut self) {
        self.update(|tree| tree.close(self.node));
    }
}

impl Reservation {
    /// Ends the reservation with what the call used.
    pub fn settle(mut self, spent: SpentAmounts) {
        self.close(Some(spent));
    }

    fn close(&mut self, spent: Option<SpentAmounts>) {
        if !std::mem::replace(&mut self.open, false) {
            return;
        }
        self.pool.0.change(|node| {
            node.change_held(&self.estimate, u64::saturating_sub);
            node.spent += spent.unwrap_or_default();
        });
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.close(None);
    }
}

impl std::fmt::Debug for BudgetPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BudgetPool").field("spent", &self.spent()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reservation").field("estimate", &self.estimate).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
