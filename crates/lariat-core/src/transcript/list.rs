//! An append-only list with cheap appends and snapshots at any length.
//!
//! Full chunks form a backward chain and are never copied; only the short open tail is copied. Invariant:
//! cloning and pushing cost the same at ten elements and at ten million.

use std::sync::Arc;

/// Elements per full chunk; limits what a snapshot copies.
const CHUNK: usize = 32;

/// A persistent append-only list.
#[derive(Clone, Debug)]
pub struct SharedList<T> {
    sealed: Option<Arc<Chunk<T>>>,
    tail: Vec<T>,
    len: usize,
}

#[derive(Debug)]
struct Chunk<T> {
    previous: Option<Arc<Chunk<T>>>,
    items: Box<[T]>,
}

impl<T> Drop for Chunk<T> {
    fn drop(&mut self) {
        // Dropping a long chain recursively would overflow the stack.
        let mut next = self.previous.take();
        while let Some(mut chunk) = next.and_then(Arc::into_inner) {
            next = chunk.previous.take();
        }
    }
}

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self { sealed: None, tail: Vec::new(), len: 0 }
    }
}

impl<T> SharedList<T> {
    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the last element.
    pub fn last(&self) -> Option<&T> {
        self.iter_back().next()
    }

    /// Appends an element.
    pub fn push(&mut self, item: T) {
        if self.tail.len() == CHUNK {
            let items = std::mem::take(&mut self.tail).into_boxed_slice();
            self.sealed = Some(Arc::new(Chunk { previous: self.sealed.take(), items }));
        }
        self.tail.push(item);
        self.len += 1;
    }

    /// Iterates from the last element to the first.
    pub fn iter_back(&self) -> impl Iterator<Item = &T> {
        let chunks = std::iter::successors(self.sealed.as_deref(), |chunk| chunk.previous.as_deref());
        self.tail.iter().rev().chain(chunks.flat_map(|chunk| chunk.items.iter().rev()))
    }

    /// Iterates from the first element to the last. Collects one pointer per chunk.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mut chunks: Vec<&Chunk<T>> =
            std::iter::successors(self.sealed.as_deref(), |chunk| chunk.previous.as_deref()).collect();
        chunks.reverse();
        chunks.into_iter().flat_map(|chunk| chunk.items.iter()).chain(self.tail.iter())
    }

    /// Iterates from a position on. Walks back from the end, so the cost depends on the number of elements
    /// after the position.
    pub fn iter_from(&self, position: usize) -> impl Iterator<Item = &T> {
        let mut chunks: Vec<&Chunk<T>> = Vec::new();
        let mut start = self.len - self.tail.len();
        let mut next = self.sealed.as_deref();
        while start > position
            && let Some(chunk) = next
        {
            start -= chunk.items.len();
            chunks.push(chunk);
            next = chunk.previous.as_deref();
        }
        chunks.reverse();
        let items = chunks.into_iter().flat_map(|chunk| chunk.items.iter()).chain(self.tail.iter());
        items.skip(position.saturating_sub(start))
    }

    /// Returns the number of leading elements that both lists share in memory: the part of the previous
    /// request that a request can reuse. Counts full chunks only.
    pub fn shared_prefix(&self, other: &Self) -> usize {
        let depth = |list: &Self| (list.len - list.tail.len()) / CHUNK;
        let skip = |list: &Self, by: usize| {
            let mut chunk = list.sealed.as_ref();
            for _ in 0..by {
                chunk = chunk.and_then(|c| c.previous.as_ref());
            }
            chunk.cloned()
        };
        let mut common = depth(self).min(depth(other));
        let mut left = skip(self, depth(self) - common);
        let mut right = skip(other, depth(other) - common);
        while let (Some(a), Some(b)) = (&left, &right) {
            if Arc::ptr_eq(a, b) {
                break;
            }
            common -= 1;
            (left, right) = (a.previous.clone(), b.previous.clone());
        }
        common * CHUNK
    }
}

impl<T> FromIterator<T> for SharedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::default();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_both_ways_and_snapshots_ignore_later_pushes() {
        let mut list = SharedList::default();
        for n in 0..100 {
            assert_eq!(list.len(), n);
            list.push(n);
            let snapshot = list.clone();
            list.push(1000);
            assert_eq!(snapshot.last(), Some(&n));
            assert_eq!(snapshot.iter().copied().collect::<Vec<_>>(), (0..=n).collect::<Vec<_>>());
            let mut back: Vec<_> = snapshot.iter_back().copied().collect();
            back.reverse();
            assert_eq!(back, (0..=n).collect::<Vec<_>>());
            list = snapshot;
        }
    }

    #[test]
    fn iterates_from_any_position() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let list: SharedList<usize> = (0..len).collect();
            for position in 0..len + 2 {
                let from: Vec<_> = list.iter_from(position).copied().collect();
                assert_eq!(from, (position..len.max(position)).collect::<Vec<_>>(), "{len} {position}");
            }
        }
    }

    #[test]
    fn long_chain_drops_without_recursion() {
        let list: SharedList<u32> = (0..1_000_000).collect();
        assert_eq!(list.len(), 1_000_000);
        drop(list);
    }

    #[test]
    fn shared_prefix_is_found_after_appends_and_divergence() {
        let base: SharedList<u32> = (0..100).collect();
        let (mut left, mut right) = (base.clone(), base.clone());
        (0..70).for_each(|n| left.push(n));
        assert_eq!(base.shared_prefix(&left), 96);
        (0..200).for_each(|n| right.push(n + 1));
        assert_eq!(left.shared_prefix(&right), 96);
        assert_eq!(left.shared_prefix(&(0..100).collect()), 0);
    }
}
