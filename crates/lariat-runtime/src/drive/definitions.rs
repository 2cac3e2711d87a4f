//! Shares equal lists of tool definitions between the agents of a process.
//!
//! A server holds many sessions with the same tools, and the schemas of their tools take more memory than the rest of an idle
//! session. The table keeps no list alive: it forgets a list when the last agent that uses it is dropped.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use lariat_core::tool::ToolDefinition;

/// Lists that the table holds before it first removes those that are no longer in use.
const FIRST_CLEANUP: usize = 64;

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// The lists in use, by a hash of their names and descriptions.
struct Table {
    lists: HashMap<u64, Vec<Weak<[ToolDefinition]>>>,
    cleanup_at: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self { lists: HashMap::new(), cleanup_at: FIRST_CLEANUP }
    }
}

/// Returns the list that other agents with equal definitions use, or this one.
pub(super) fn intern(definitions: Vec<ToolDefinition>) -> Arc<[ToolDefinition]> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner).intern(definitions)
}

impl Table {
    fn intern(&mut self, definitions: Vec<ToolDefinition>) -> Arc<[ToolDefinition]> {
        let bucket = self.lists.entry(hash(&definitions)).or_default();
        if let Some(list) = bucket.iter().filter_map(Weak::upgrade).find(|list| **list == *definitions) {
            return list;
        }
        let list: Arc<[ToolDefinition]> = definitions.into();
        bucket.retain(|list| list.strong_count() > 0);
        bucket.push(Arc::downgrade(&list));
        if self.lists.len() >= self.cleanup_at {
            self.lists.retain(|_, bucket| bucket.iter().any(|list| list.strong_count() > 0));
            self.cleanup_at = FIRST_CLEANUP.max(self.lists.len() * 2);
        }
        list
    }
}

fn hash(definitions: &[ToolDefinition]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for definition in definitions {
        (&definition.name, &definition.description).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(name: &str, kind: &str) -> Vec<ToolDefinition> {
        vec![ToolDefinition {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({ "type": kind }),
        }]
    }

    #[test]
    fn equal_lists_are_one_and_different_schemas_are_not() {
        let mut table = Table::default();
        let first = table.intern(list("a", "object"));
        assert!(Arc::ptr_eq(&first, &table.intern(list("a", "object"))));
        let other = table.intern(list("a", "string"));
        assert_eq!(other[0].parameters, json!({ "type": "string" }));
        assert!(Arc::ptr_eq(&first, &table.intern(list("a", "object"))));
    }

    #[test]
    fn lists_no_longer_in_use_are_removed() {
        let mut table = Table::default();
        for number in 0..FIRST_CLEANUP * 10 {
            table.intern(list(&number.to_string(), "object"));
        }
        assert!(table.lists.len() < FIRST_CLEANUP, "{}", table.lists.len());
    }
}
