//! Logs of a session with sub-agents, read by one client with a cursor for each session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lariat_api::{
    Action, ClientName, CommandId, CreateSession, Delivery, LogItem, LogRequest, Principal, Problem,
    ProblemCode, PromptContent, SessionCommand, Sessions as _, TreeCursors, TreeItem, TreeLog,
};
use lariat_core::BoxFuture;
use lariat_core::event::AgentEvent;
use lariat_core::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionHooks};
use lariat_core::id::{EventId, SessionId};
use lariat_core::permission::{PermissionPolicy, PolicyQuery, Verdict};
use lariat_core::store::SessionStore as _;
use lariat_runtime::{Agent, SubAgentTool};
use lariat_sessions::{AgentFactory, AgentRequest, HostOptions, HostedAgent, Local};
use lariat_store::sqlite::SqliteStore;
use lariat_test::{Reply, ScriptedModel};
use serde_json::json;
use tokio::sync::Semaphore;

/// Allows everything, and lets a sub-agent start only when the test permits it.
struct Gated(Arc<Semaphore>);

impl PermissionPolicy for Gated {
    fn check<'a>(&'a self, _: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Allow))
    }

    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        Some(self)
    }
}

impl SessionHooks for Gated {
    fn wants(&self, kind: LifecycleEventKind) -> bool {
        kind == LifecycleEventKind::SubagentStart
    }

    fn notify<'a>(&'a self, _: &'a SessionId, _: LifecycleEvent) -> BoxFuture<'a, HookAnswer> {
        Box::pin(async {
            self.0.acquire().await.unwrap().forget();
            HookAnswer::default()
        })
    }
}

/// Builds an agent that delegates to two sub-agents, one of which delegates further, and to one that is refused.
struct Delegating(Arc<Semaphore>);

fn task(tool: &str) -> (String, &str, serde_json::Value) {
    (format!("call-{tool}"), tool, json!({"task": "look"}))
}

impl AgentFactory for Delegating {
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        let delegate = Reply::calls([task("outer"), task("other"), task("refused")]);
        let inner = SubAgentTool::new("inner", ScriptedModel::new([Reply::text("seen")]));
        let outer = [Reply::calls([task("inner")]), Reply::text("ok")];
        let outer =
            SubAgentTool::new("outer", ScriptedModel::new(outer)).with_tools([Arc::new(inner) as Arc<_>]);
        let other = SubAgentTool::new("other", ScriptedModel::new([Reply::text("fine")]));
        let refused =
            SubAgentTool::new("refused", ScriptedModel::new([])).with(|agent| agent.with_max_running(0));
        let agent = Agent::builder()
            .model(ScriptedModel::new([delegate, Reply::text("done")]))
            .store(Arc::clone(request.store))
            .session_id(request.session_id.clone())
            .permission_policy(Gated(Arc::clone(&self.0)))
            .tool(outer)
            .tool(other)
            .tool(refused)
            .build();
        Box::pin(async move { Ok(HostedAgent::new(agent.unwrap())) })
    }
}

struct Tree {
    store: Arc<SqliteStore>,
    host: Local,
    root: SessionId,
    /// Permits sub-agents to start.
    starts: Arc<Semaphore>,
}

impl Tree {
    async fn new() -> Self {
        let store = Arc::new(SqliteStore::in_memory().await.unwrap());
        let (starts, root) = (Arc::new(Semaphore::new(0)), SessionId::from("root"));
        let agents = Arc::new(Delegating(Arc::clone(&starts)));
        let host = Local::new(store.clone(), agents, Principal::new("user:ada"), HostOptions::default());
        host.create(CreateSession::new(root.clone(), "/project")).await.unwrap();
        Self { store, host, root, starts }
    }

    async fn prompt(&self) {
        let action = Action::Prompt { content: PromptContent::text("go"), delivery: Delivery::Queue };
        let command = SessionCommand::new(CommandId::new("p"), ClientName::new("test"), action);
        self.host.send(&self.root, command).await.unwrap();
    }

    fn follow(&self, cursors: TreeCursors) -> TreeLog {
        TreeLog::follow(Arc::new(self.host.clone()), self.root.clone(), cursors)
    }

    async fn read(&self, cursors: TreeCursors) -> Vec<TreeItem> {
        let log = TreeLog::read(Arc::new(self.host.clone()), self.root.clone(), cursors);
        log.map(Result::unwrap).collect().await
    }

    /// Asserts that these are all events of the whole tree, those of a sub-agent after the event that started it.
    async fn assert_complete(&self, items: &[TreeItem]) {
        let mut read: BTreeMap<&SessionId, Vec<EventId>> = BTreeMap::new();
        let mut started = vec![self.root.clone()];
        for TreeItem { session_id, item, .. } in items {
            let LogItem::Event { event, .. } = item else { continue };
            assert!(started.contains(session_id), "{session_id} has not started");
            read.entry(session_id).or_default().push(event.id);
            if let AgentEvent::SubAgentSpawned { child_session_id, .. } = &event.event {
                started.push(child_session_id.clone());
            }
        }
        assert_eq!(started.len(), 5, "the root, three sub-agents and one of a sub-agent");
        let mut refused = 0;
        for session_id in &started {
            let journal = self.store.read(session_id, 0, usize::MAX).await.unwrap();
            let is_end =
                |event: &lariat_core::event::Event| matches!(event.event, AgentEvent::AgentEnd { .. });
            let end = journal.iter().position(is_end).map_or(0, |at| at + 1);
            let end = if *session_id == self.root { journal.len().min(read[session_id].len()) } else { end };
            let journal: Vec<EventId> = journal[..end].iter().map(|event| event.id).collect();
            refused += usize::from(journal.is_empty());
            assert_eq!(read.get(session_id).cloned().unwrap_or_default(), journal, "{session_id}");
        }
        assert_eq!(refused, 1);
    }
}

/// Follows until the root has ended.
async fn until_end(log: &mut TreeLog, root: &SessionId, items: &mut Vec<TreeItem>) {
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), log.next());
        let item = next.await.expect("the next item").expect("an item").unwrap();
        let is_end = match &item.item {
            LogItem::Event { event, .. } => matches!(event.event, AgentEvent::AgentEnd { .. }),
            _ => false,
        };
        let is_root = item.session_id == *root;
        items.push(item);
        if is_end && is_root {
            return;
        }
    }
}

#[tokio::test]
async fn client_follows_descendants_from_their_first_event_to_their_last() {
    let tree = Tree::new().await;
    let mut log = tree.follow(TreeCursors::new());
    tree.prompt().await;
    let mut items = Vec::new();
    // The sub-agents are recorded, and have no events yet.
    while log.cursors().len() < 3 {
        items.push(log.next().await.unwrap().unwrap());
    }
    let waiting = tokio::time::timeout(Duration::from_millis(200), async {
        while let Some(item) = log.next().await {
            items.push(item.unwrap());
        }
    });
    assert!(waiting.await.is_err(), "the stream waits for sub-agents that have no events");
    tree.starts.add_permits(10);
    until_end(&mut log, &tree.root, &mut items).await;
    // The last events of a sub-agent may come after the end of the root. A sub-agent without events ends without an item.
    let rest = tokio::time::timeout(Duration::from_secs(20), async {
        while log.cursors().len() > 1 {
            if let Ok(item) = tokio::time::timeout(Duration::from_millis(20), log.next()).await {
                items.push(item.expect("an item").unwrap());
            }
        }
    });
    rest.await.expect("the ends of the sub-agents");
    tree.assert_complete(&items).await;
    let open: Vec<&SessionId> = log.cursors().keys().collect();
    assert_eq!(open, [&tree.root], "sub-agents that ended need no cursor");
}

#[tokio::test]
async fn client_that_reconnects_anywhere_misses_nothing_and_sees_nothing_twice() {
    let tree = Tree::new().await;
    tree.starts.add_permits(10);
    tree.prompt().await;
    until_end(&mut tree.follow(TreeCursors::new()), &tree.root, &mut Vec::new()).await;
    let whole = tree.read(TreeCursors::new()).await;
    tree.assert_complete(&whole).await;
    for count in 0..whole.len() {
        let mut log = TreeLog::read(Arc::new(tree.host.clone()), tree.root.clone(), TreeCursors::new());
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(log.next().await.unwrap().unwrap());
        }
        // A client saves its cursors as JSON.
        let saved = serde_json::to_string(log.cursors()).unwrap();
        drop(log);
        items.extend(tree.read(serde_json::from_str(&saved).unwrap()).await);
        tree.assert_complete(&items).await;
    }
}

#[tokio::test]
async fn session_that_no_other_has_started_is_not_found() {
    let tree = Tree::new().await;
    let mut request = LogRequest::default();
    request.follow = true;
    let Err(problem) = tree.host.log(&"none".into(), request).await else { panic!("it has no log") };
    assert_eq!(problem.code, ProblemCode::NotFound);
    let root = SessionId::from("none");
    let mut log = TreeLog::follow(Arc::new(tree.host.clone()), root, TreeCursors::new());
    assert_eq!(log.next().await.unwrap().unwrap_err().code, ProblemCode::NotFound);
    assert!(log.next().await.is_none());
}
