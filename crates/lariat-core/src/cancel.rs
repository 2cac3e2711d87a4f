//! Cancels work under any executor.
//!
//! Tokens form a tree: cancelling a token cancels its children, never its parent. The code uses only `std`,
//! because the contracts that carry a token belong to a crate without an async runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// A flag that is set once. Tasks can poll it, wait for it and pass children of it on.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken {
    node: Arc<TokenNode>,
}

#[derive(Debug, Default)]
struct TokenNode {
    state: Mutex<TokenState>,
}

#[derive(Debug, Default)]
struct TokenState {
    cancelled: bool,
    wakers: Vec<(u64, Waker)>,
    next_key: u64,
    children: Vec<Weak<TokenNode>>,
    /// Number of children at which dead ones are removed, so that a long-lived parent does not accumulate
    /// them.
    sweep_at: usize,
}

impl TokenNode {
    fn lock(&self) -> MutexGuard<'_, TokenState> {
        // A waker that panicked while the lock was held did not change the flag.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) {
        let (wakers, children) = {
            let mut state = self.lock();
            if state.cancelled {
                return;
            }
            state.cancelled = true;
            (std::mem::take(&mut state.wakers), std::mem::take(&mut state.children))
        };
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
        children.iter().filter_map(Weak::upgrade).for_each(|child| child.cancel());
    }
}

impl CancellationToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels this token and all of its children.
    pub fn cancel(&self) {
        self.node.cancel();
    }

    /// Returns whether this token was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.node.lock().cancelled
    }

    /// Creates a token that is cancelled together with this one, and that can be cancelled alone.
    pub fn child_token(&self) -> Self {
        let child = Self::new();
        let mut state = self.node.lock();
        if state.cancelled {
            drop(state);
            child.cancel();
            return child;
        }
        if state.children.len() >= state.sweep_at {
            state.children.retain(|node| node.strong_count() > 0);
            state.sweep_at = (state.children.len() * 2).max(8);
        }
        state.children.push(Arc::downgrade(&child.node));
        drop(state);
        child
    }

    /// Completes when the token is cancelled.
    pub fn cancelled(&self) -> Cancellation {
        Cancellation { node: Arc::clone(&self.node), key: None }
    }
}

/// The future that [`CancellationToken::cancelled`] returns.
#[derive(Debug)]
pub struct Cancellation {
    node: Arc<TokenNode>,
    key: Option<u64>,
}

impl Future for Cancellation {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut state = this.node.lock();
        if state.cancelled {
            return Poll::Ready(());
        }
        let known = this.key.and_then(|key| state.wakers.iter_mut().find(|(k, _)| *k == key));
        match known {
            Some((_, waker)) => waker.clone_from(context.waker()),
            None => {
                let key = state.next_key;
                state.next_key += 1;
                state.wakers.push((key, context.waker().clone()));
                this.key = Some(key);
            }
        }
        Poll::Pending
    }
}

impl Drop for Cancellation {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.node.lock().wakers.retain(|(k, _)| *k != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancel_reaches_children_but_not_the_parent() {
        let parent = CancellationToken::new();
        let child = parent.child_token();
        let sibling = parent.child_token();
        let grandchild = child.child_token();
        child.cancel();
        assert!(grandchild.is_cancelled());
        assert!(!parent.is_cancelled() && !sibling.is_cancelled());
        parent.cancel();
        assert!(sibling.is_cancelled());
        assert!(parent.child_token().is_cancelled());
    }

    #[test]
    fn dropped_waiter_removes_its_waker() {
        let token = CancellationToken::new();
        let mut waiting = token.cancelled();
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut waiting).poll(&mut context).is_pending());
        assert!(Pin::new(&mut waiting).poll(&mut context).is_pending());
        assert_eq!(token.node.lock().wakers.len(), 1);
        drop(waiting);
        assert_eq!(token.node.lock().wakers.len(), 0);
        token.cancel();
        assert!(Pin::new(&mut token.cancelled()).poll(&mut context).is_ready());
    }

    #[test]
    fn parent_removes_dropped_children() {
        let parent = CancellationToken::new();
        for _ in 0..10_000 {
            drop(parent.child_token());
        }
        assert!(parent.node.lock().children.len() <= 16);
    }
}
