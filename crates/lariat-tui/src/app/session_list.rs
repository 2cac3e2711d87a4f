//! The list of sessions as a tree: forks and sub-agents are below the session that they come from.

use std::collections::{HashMap, HashSet};

use lariat_api::{SessionStatus, SessionSummary};
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_terminal::human;

use crate::overlay::Item;

/// Makes the items. The sessions are newest first; a tree has the place of its newest session, and within a tree, the
/// oldest children come first. A session whose parent is not listed begins a tree.
pub(super) fn items(sessions: &[SessionSummary], now: Timestamp) -> Vec<Item> {
    let by_id: HashMap<&SessionId, &SessionSummary> =
        sessions.iter().map(|summary| (&summary.archived.session_id, summary)).collect();
    let mut children: HashMap<&SessionId, Vec<&SessionSummary>> = HashMap::new();
    for summary in sessions.iter().rev() {
        if let Some(parent) = &summary.archived.parent {
            children.entry(parent).or_default().push(summary);
        }
    }
    children.values_mut().for_each(|list| list.sort_by_key(|child| child.archived.created_at));
    let mut listed = HashSet::new();
    let mut items = Vec::with_capacity(sessions.len());
    for summary in sessions {
        let mut open = vec![(root(summary, &by_id), 0)];
        while let Some((summary, depth)) = open.pop() {
            let id = &summary.archived.session_id;
            if listed.insert(id) {
                items.push(Item { depth, ..item(summary, now) });
                let below = children.get(id).into_iter().flatten().rev();
                open.extend(below.map(|child| (*child, depth + 1)));
            }
        }
    }
    items
}

/// The first session of a tree.
fn root<'a>(
    mut summary: &'a SessionSummary,
    by_id: &HashMap<&'a SessionId, &'a SessionSummary>,
) -> &'a SessionSummary {
    // No longer path is possible, except in a circle that a broken store made.
    for _ in 0..by_id.len() {
        let Some(parent) = summary.archived.parent.as_ref().and_then(|id| by_id.get(id)) else { break };
        summary = parent;
    }
    summary
}

fn item(summary: &SessionSummary, now: Timestamp) -> Item {
    let archived = &summary.archived;
    let label = archived.title.clone().or_else(|| archived.first_prompt.clone());
    let id: String = archived.session_id.as_str().chars().take(8).collect();
    let state = match summary.status {
        _ if summary.asks > 0 => ", asks you",
        SessionStatus::Running => ", running",
        SessionStatus::Interrupted => ", interrupted",
        _ => "",
    };
    // A model without a price costs nothing that is known.
    let cost = archived.usage.cost;
    let cost = if cost.is_zero() { String::new() } else { format!(" · {}", human::money(cost)) };
    Item {
        id: archived.session_id.as_str().to_owned(),
        label: label.unwrap_or_else(|| "empty session".to_owned()),
        detail: format!("{id} {}{state}", human::ago(archived.last_active_at, now)),
        preview: Some(format!(
            "{}\n{}\n{}{cost}",
            archived.first_prompt.clone().unwrap_or_default(),
            archived.cwd.clone().unwrap_or_default(),
            archived.model.clone().unwrap_or_default(),
        )),
        ..Item::default()
    }
}

#[cfg(test)]
mod tests {
    use lariat_core::archive;

    use super::{SessionId, SessionStatus, SessionSummary, Timestamp, items};

    fn session(id: &str, parent: Option<&str>, created: u64) -> SessionSummary {
        let mut archived = archive::SessionSummary::new(SessionId::from(id));
        archived.parent = parent.map(SessionId::from);
        archived.created_at = Timestamp::from_millis(created);
        SessionSummary::new(archived, SessionStatus::Idle)
    }

    fn tree(sessions: &[SessionSummary]) -> String {
        let row = |item: super::Item| format!("{}{}", "-".repeat(item.depth), item.id);
        items(sessions, Timestamp::from_millis(9)).into_iter().map(row).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn children_are_below_their_parent_and_a_tree_has_the_place_of_its_newest_session() {
        let sessions = [
            session("grandchild", Some("first"), 5),
            session("other", None, 4),
            session("second", Some("top"), 3),
            session("first", Some("top"), 2),
            session("top", None, 1),
            session("orphan", Some("elsewhere"), 0),
        ];
        assert_eq!(tree(&sessions), "top -first --grandchild -second other orphan");
    }

    #[test]
    fn cycle_of_parents_lists_each_session_once() {
        let sessions = [session("a", Some("b"), 1), session("b", Some("a"), 2), session("c", Some("c"), 3)];
        let shown = tree(&sessions);
        assert_eq!(shown.matches(['a', 'b', 'c']).count(), 3, "{shown}");
    }
}
