//! Applies random operations to a store and to a model of it, a map of lists, and compares them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lariat_core::archive::{ListQuery, SessionArchive, SessionSummary};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Append, StoreError};

use super::{ArchiveFixture, Script, description_event, message_event};
use crate::SeededRandom;

const SEEDS: u64 = 6;
const STEPS: usize = 60;

#[derive(Default)]
struct Model {
    writers: BTreeMap<String, Script>,
    parents: BTreeMap<String, String>,
    deleted: BTreeSet<String>,
}

/// Claims, valid and invalid appends, forks, deletions, collections and reopening, in any order. Prints its
/// seed.
pub async fn random_operations_agree_with_a_model(place: &dyn ArchiveFixture) {
    let mut store = place.open().await;
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let mut dice = SeededRandom::new(seed).fork("conformance");
        let mut model = Model::default();
        for step in 0..STEPS {
            let name = format!("{seed}-{}", dice.below(5));
            let at = (step as u64 + 1) * 100_000;
            match dice.below(20) {
                0..=2 => model.claim(&*store, &name, at).await,
                3..=11 => model.append(&*store, &name, &mut dice).await,
                12 | 13 => model.stale(&*store, &name).await,
                14 | 15 => {
                    let to = format!("{seed}-{}", dice.below(8));
                    model.fork(&*store, &name, &to, at, &mut dice).await;
                }
                16 => model.delete(&*store, &name).await,
                17 => drop(store.collect_garbage(Duration::ZERO).await.unwrap()),
                18 if place.is_persistent() => {
                    drop(store);
                    store = place.open().await;
                    // After the store was reopened, every writer has to claim its session again.
                    for (name, script) in &mut model.writers {
                        if !model.deleted.contains(name) {
                            script.epoch = store.claim(&script.session_id).await.unwrap();
                        }
                    }
                }
                _ => model.check(&*store, &format!("{seed}-")).await,
            }
        }
        model.check(&*store, &format!("{seed}-")).await;
    }
}

impl Model {
    fn is_alive(&self, name: &str) -> bool {
        self.writers.contains_key(name) && !self.deleted.contains(name)
    }

    async fn claim(&mut self, store: &dyn SessionArchive, name: &str, at: u64) {
        if self.deleted.contains(name) {
            let refused = store.claim(&SessionId::from(name)).await;
            assert!(matches!(refused, Err(StoreError::NotFound(_))), "{refused:?}");
            return;
        }
        let mut script = Script::claim(store, name, at).await;
        if let Some(before) = self.writers.remove(name) {
            assert!(script.epoch > before.epoch);
            script.written = before.written;
        }
        self.writers.insert(name.to_owned(), script);
    }

    async fn append(&mut self, store: &dyn SessionArchive, name: &str, dice: &mut SeededRandom) {
        if !self.is_alive(name) {
            return;
        }
        let Some(script) = self.writers.get_mut(name) else { return };
        let size = if dice.below(6) == 0 { 40_000 } else { 20 };
        let count = dice.below(5);
        let kinds = (0..count).map(|n| match dice.below(4) {
            0 => description_event(Some(&format!("title {n}")), Some("/w"), None),
            n => message_event(&format!("word{n} ").repeat(1 + size / 6)),
        });
        let kinds: Vec<_> = kinds.collect();
        script.write(store, kinds).await;
    }

    async fn stale(&mut self, store: &dyn SessionArchive, name: &str) {
        if !self.is_alive(name) {
            return;
        }
        let Some(script) = self.writers.get_mut(name) else { return };
        let events = script.make([message_event("refused")]);
        let (id, epoch, head) = (&script.session_id, script.epoch, script.written.len() as u64);
        let ahead = store.append(Append::new(id, epoch, head + 1, &events)).await;
        assert_eq!(ahead, Err(StoreError::Conflict { expected: head + 1, actual: head }));
        let old = lariat_core::store::Epoch(epoch.0 - 1);
        let fenced = store.append(Append::new(id, old, head, &events)).await;
        assert_eq!(fenced, Err(StoreError::Fenced { current: epoch }));
    }

    async fn fork(
        &mut self,
        store: &dyn SessionArchive,
        from: &str,
        to: &str,
        at: u64,
        dice: &mut SeededRandom,
    ) {
        let shared: Vec<Event> = match self.writers.get(from) {
            Some(script) if self.is_alive(from) => {
                let at_seq = dice.index(script.written.len() + 1);
                script.written.iter().take(at_seq).cloned().collect()
            }
            _ => return,
        };
        let (from_id, to_id) = (SessionId::from(from), SessionId::from(to));
        let forked = store.fork(&from_id, shared.len() as u64, &to_id).await;
        if self.writers.contains_key(to) {
            assert!(
                matches!(forked, Err(StoreError::Conflict { .. } | StoreError::NotFound(_))),
                "{forked:?}"
            );
            return;
        }
        forked.unwrap();
        let mut script = Script::claim(store, to, at).await;
        script.written = shared;
        self.parents.insert(to.to_owned(), from.to_owned());
        self.writers.insert(to.to_owned(), script);
    }

    async fn delete(&mut self, store: &dyn SessionArchive, name: &str) {
        let deleted = store.delete(&SessionId::from(name)).await;
        if self.is_alive(name) {
            deleted.unwrap();
            self.deleted.insert(name.to_owned());
        } else {
            assert!(matches!(deleted, Err(StoreError::NotFound(_))), "{deleted:?}");
        }
    }

    async fn check(&self, store: &dyn SessionArchive, prefix: &str) {
        let mut summaries = Vec::new();
        for (name, script) in &self.writers {
            if self.deleted.contains(name) {
                assert_eq!(store.head(&script.session_id).await, Ok(0));
                continue;
            }
            script.check(store).await;
            assert_eq!(store.verify(&script.session_id).await.unwrap().damage, []);
            let mut summary = SessionSummary::of(script.session_id.clone(), &script.written);
            if let Some(parent) = self.parents.get(name) {
                summary.parent = Some(SessionId::from(parent.as_str()));
            }
            if summary.events > 0 {
                assert_eq!(store.summary(&script.session_id).await.unwrap(), summary);
                summaries.push(summary);
            }
        }
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.cursor()));
        let listed = store.list(&ListQuery::default()).await.unwrap();
        let own = listed.into_iter().filter(|summary| summary.session_id.as_str().starts_with(prefix));
        assert_eq!(own.collect::<Vec<_>>(), summaries);
    }
}
