//! Hosts in processes of their own, killed as the system kills them.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use lariat_api::{LogItem, LogRequest, Sessions};
use lariat_core::id::SessionId;
use lariat_server::background::{self, connect_or_start};
use tokio::task::JoinSet;

use crate::double::Memory;
use crate::fixture::{Place, Running, SOON};

/// Names the socket that a process of this test serves, and the number of events of its session.
const SOCKET: &str = "LARIAT_TEST_SOCKET";
const EVENTS: &str = "LARIAT_TEST_EVENTS";

/// The processes that a test started. They end with it.
#[derive(Default)]
struct Processes(Mutex<Vec<Child>>);

impl Processes {
    /// Starts this program again, as a host.
    fn start(&self, socket: &Path, events: u64) -> std::io::Result<()> {
        let child = Command::new(std::env::current_exe()?)
            .args(["--exact", "processes::serves_if_the_environment_names_a_socket", "--nocapture"])
            .env(SOCKET, socket)
            .env(EVENTS, events.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        self.0.lock().unwrap().push(child);
        Ok(())
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Kills every process with SIGKILL.
    fn kill(&self) {
        for mut child in self.0.lock().unwrap().drain(..) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The host of the other tests. Does nothing in an ordinary run.
#[tokio::test]
async fn serves_if_the_environment_names_a_socket() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let events = std::env::var(EVENTS).unwrap().parse().unwrap();
    let running = Running::start(Path::new(&socket), &Memory::with_events("s", events)).await;
    running.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_callers_start_one_process() {
    let place = Place::new();
    let processes = Arc::new(Processes::default());
    let mut callers = JoinSet::new();
    for _ in 0..10 {
        let (socket, processes) = (place.socket(), Arc::clone(&processes));
        callers.spawn(async move {
            let start = || processes.start(&socket, 1);
            connect_or_start(&socket, SOON, start).await.unwrap().host().await.unwrap()
        });
    }
    let hosts = callers.join_all().await;
    assert_eq!(processes.count(), 1);
    assert_ne!(hosts[0].pid, std::process::id());
    assert!(hosts.iter().all(|host| host == &hosts[0]));
    // The host ends by itself when a client asks for it.
    background::stop(&place.socket(), SOON).await.unwrap();
    assert!(!place.socket().exists());
}

#[tokio::test]
async fn reader_continues_after_the_process_of_its_host_is_killed() {
    let place = Place::new();
    let socket = place.socket();
    let processes = Processes::default();
    let remote = connect_or_start(&socket, SOON, || processes.start(&socket, 2)).await.unwrap();
    let mut request = LogRequest::default();
    request.follow = true;
    let mut log = remote.log(&SessionId::new("s"), request).await.unwrap();
    let items: Vec<_> = log.by_ref().take(3).collect().await;
    assert!(matches!(items[2], Ok(LogItem::Synced { .. })));
    for restart in 1..=3 {
        processes.kill();
        assert!(socket.exists(), "a killed host leaves its socket");
        // The next host has one more event, as from a journal that a run continued.
        let starting = connect_or_start(&socket, SOON, || processes.start(&socket, 2 + restart));
        starting.await.unwrap();
        let item = tokio::time::timeout(SOON, log.next()).await.unwrap().unwrap().unwrap();
        let LogItem::Event { event, .. } = item else { panic!("{item:?}") };
        assert_eq!(event.seq, 1 + restart);
    }
    // Nothing more arrives.
    assert!(tokio::time::timeout(Duration::from_millis(100), log.next()).await.is_err());
}
