//! A pool that parent and children draw on.
//!
//! One lock for the whole tree, so that a reservation passes every pool above it at once or none. A call that does not
//! fit beside those in flight waits for them; when nothing is in flight and something is left, it goes in alone.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use lariat_core::budget::{BudgetLimits, BudgetScope, Spent, Standing};
use lariat_core::event::LimitKind;
use lariat_core::planted::{Planted, planted};

/// A budget that runs draw on together. Cheap to clone; all clones are the same pool.
///
/// ```
/// use lariat_core::budget::{BudgetLimits, Spent};
/// use lariat_runtime::budget::BudgetPool;
///
/// let pool = BudgetPool::new(BudgetLimits::none().with_tool_calls(1));
/// let child = pool.child(BudgetLimits::none());
/// let call = child.try_admit(Spent::tool_call()).expect("one call is left");
/// assert!(pool.try_admit(Spent::tool_call()).is_err(), "it is taken");
/// call.settle(Spent::tool_call());
/// assert_eq!(pool.spent().tool_calls, 1);
/// ```
#[derive(Clone)]
pub struct BudgetPool {
    tree: Arc<Mutex<Tree>>,
    node: usize,
}

#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    waiting: Vec<Waker>,
}

struct Node {
    parent: Option<usize>,
    limits: BudgetLimits,
    spent: Spent,
    /// Reserved for calls in flight, in the units of [`LimitKind::ALL`].
    held: [u64; 5],
}

/// What a pool says to a call.
enum Answer {
    Fits,
    Wait,
    Refused(Standing),
}

/// What is reserved for a call in flight. Dropped without being settled, it is given back.
#[must_use = "a reservation that is dropped is given back"]
pub struct Reservation {
    pool: BudgetPool,
    estimate: Spent,
    open: bool,
}

impl BudgetPool {
    /// A pool with these caps.
    pub fn new(limits: BudgetLimits) -> Self {
        Self::with_spent(limits, Spent::default())
    }

    /// A pool of which something was spent before.
    pub(crate) fn with_spent(limits: BudgetLimits, spent: Spent) -> Self {
        let root = Node { parent: None, limits, spent, held: [0; 5] };
        let tree = Tree { nodes: vec![root], waiting: Vec::new() };
        Self { tree: Arc::new(Mutex::new(tree)), node: 0 }
    }

    /// A part of this pool with caps of its own. What it spends is spent here, too.
    pub fn child(&self, limits: BudgetLimits) -> Self {
        let mut tree = self.lock();
        let node = tree.nodes.len();
        tree.nodes.push(Node { parent: Some(self.node), limits, spent: Spent::default(), held: [0; 5] });
        Self { tree: Arc::clone(&self.tree), node }
    }

    /// What was spent, by this pool and those that draw on it.
    pub fn spent(&self) -> Spent {
        self.lock().nodes.get(self.node).map(|node| node.spent).unwrap_or_default()
    }

    /// Whether calls are in flight.
    pub fn is_idle(&self) -> bool {
        self.lock().nodes.get(self.node).is_none_or(|node| node.held == [0; 5])
    }

    /// Where the caps stand, of this pool or one above it, whichever is nearer to its end.
    pub fn standings(&self) -> Vec<Standing> {
        let tree = self.lock();
        let nearest = |kind| {
            let standings = tree.above(self.node).filter_map(|at| tree.nodes.get(at)?.standing(kind));
            standings.max_by_key(Standing::percent)
        };
        LimitKind::ALL.into_iter().filter_map(nearest).collect()
    }

    /// Gives more room, here and in the pools above.
    pub fn extend(&self, more: &BudgetLimits) {
        let mut tree = self.lock();
        for at in tree.above(self.node).collect::<Vec<_>>() {
            if let Some(node) = tree.nodes.get_mut(at) {
                node.limits = node.limits.raised(more);
            }
        }
        let waiting = std::mem::take(&mut tree.waiting);
        drop(tree);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Reserves what a call may use; waits while others are in flight that leave no room for it.
    ///
    /// # Errors
    /// The cap that is used up.
    pub async fn admit(&self, estimate: Spent) -> Result<Reservation, Standing> {
        poll_fn(|context| self.poll_admit(estimate, context)).await
    }

    /// Reserves what a call may use, without waiting.
    ///
    /// # Errors
    /// The cap that is used up, or would be if those in flight use what they reserved.
    pub fn try_admit(&self, estimate: Spent) -> Result<Reservation, Standing> {
        let mut tree = self.lock();
        match tree.ask(self.node, &estimate) {
            Answer::Fits => Ok(self.reserve(&mut tree, estimate)),
            Answer::Refused(standing) => Err(standing),
            Answer::Wait => {
                let full = |at: usize| tree.nodes.get(at)?.standing(LimitKind::Tokens);
                let full = tree.above(self.node).find_map(full);
                Err(full.unwrap_or(Standing::new(BudgetScope::Pool, LimitKind::Tokens, 0, 0)))
            }
        }
    }

    fn poll_admit(&self, estimate: Spent, context: &Context<'_>) -> Poll<Result<Reservation, Standing>> {
        let mut tree = self.lock();
        match tree.ask(self.node, &estimate) {
            Answer::Fits => Poll::Ready(Ok(self.reserve(&mut tree, estimate))),
            Answer::Refused(standing) => Poll::Ready(Err(standing)),
            Answer::Wait => {
                if !tree.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    tree.waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn reserve(&self, tree: &mut Tree, estimate: Spent) -> Reservation {
        for at in tree.above(self.node).collect::<Vec<_>>() {
            if let Some(node) = tree.nodes.get_mut(at) {
                node.hold(&estimate, u64::saturating_add);
            }
        }
        Reservation { pool: self.clone(), estimate, open: true }
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tree {
    /// A pool and those it draws on, up to the root.
    fn above(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let parent = |at: &usize| self.nodes.get(*at)?.parent.filter(|_| !planted(Planted::ChildIgnoresPool));
        std::iter::successors(Some(node), parent)
    }

    fn ask(&self, node: usize, estimate: &Spent) -> Answer {
        let mut answer = Answer::Fits;
        for at in self.above(node) {
            match self.nodes.get(at).map(|node| node.ask(estimate)) {
                Some(Answer::Refused(standing)) => return Answer::Refused(standing),
                Some(Answer::Wait) => answer = Answer::Wait,
                _ => {}
            }
        }
        answer
    }
}

impl Node {
    fn standing(&self, kind: LimitKind) -> Option<Standing> {
        let cap = self.limits.cap(kind)?;
        Some(Standing::new(BudgetScope::Pool, kind, self.spent.amount(kind), cap))
    }

    fn ask(&self, estimate: &Spent) -> Answer {
        let mut answer = Answer::Fits;
        for (kind, held) in LimitKind::ALL.into_iter().zip(self.held) {
            let Some(standing) = self.standing(kind) else { continue };
            let need = estimate.amount(kind);
            let fits = standing.used.saturating_add(held).saturating_add(need) <= standing.cap;
            match kind {
                // Known exactly beforehand.
                LimitKind::Turns | LimitKind::ToolCalls if !fits && need > 0 => {
                    return Answer::Refused(standing);
                }
                LimitKind::Turns | LimitKind::ToolCalls => {}
                // A tool call uses no tokens and no money of its own.
                LimitKind::Tokens | LimitKind::Cost if estimate.tool_calls > 0 => {}
                _ if standing.used >= standing.cap => return Answer::Refused(standing),
                _ if !fits && held > 0 => answer = Answer::Wait,
                _ => {}
            }
        }
        answer
    }

    fn hold(&mut self, estimate: &Spent, change: fn(u64, u64) -> u64) {
        for (kind, held) in LimitKind::ALL.into_iter().zip(&mut self.held) {
            *held = change(*held, estimate.amount(kind));
        }
    }
}

impl Reservation {
    /// The call is over, and this is what it used.
    pub fn settle(mut self, spent: Spent) {
        self.close(Some(spent));
    }

    fn close(&mut self, spent: Option<Spent>) {
        if !std::mem::replace(&mut self.open, false) {
            return;
        }
        let mut tree = self.pool.lock();
        for at in tree.above(self.pool.node).collect::<Vec<_>>() {
            let Some(node) = tree.nodes.get_mut(at) else { continue };
            if spent.is_none() || !planted(Planted::ForgetsToRelease) {
                node.hold(&self.estimate, u64::saturating_sub);
            }
            node.spent += spent.unwrap_or_default();
            if planted(Planted::SettlesTwice) {
                node.spent += spent.unwrap_or_default();
            }
        }
        let waiting = std::mem::take(&mut tree.waiting);
        drop(tree);
        waiting.into_iter().for_each(Waker::wake);
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
