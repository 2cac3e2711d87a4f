//! Who may serve a socket, and who starts the host.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::ProblemCode;
use lariat_server::background::{connect_or_start, stop};
use lariat_server::unix::{BindError, HostSocket};
use tokio::task::JoinSet;

use crate::double::Memory;
use crate::fixture::{Place, Running, SOON, remote};

#[tokio::test]
async fn directory_and_socket_are_private() {
    let place = Place::new();
    let socket = place.path().join("new/host.sock");
    let _running = Running::start(&socket, &Memory::new()).await;
    assert_eq!(fs::metadata(socket.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn refuses_a_directory_that_others_can_reach() {
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o710)).unwrap();
    let error = HostSocket::bind(&place.socket(), SOON).await.unwrap_err();
    assert!(matches!(error, BindError::DirectoryNotPrivate(_)), "{error}");
    let problem = connect_or_start(&place.socket(), SOON, || panic!("must not start")).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Forbidden);
}

#[tokio::test]
async fn one_of_ten_hosts_serves() {
    let place = Place::new();
    for stale in [false, true] {
        assert_eq!(place.socket().exists(), stale);
        let mut binds = JoinSet::new();
        for _ in 0..10 {
            let socket = place.socket();
            binds.spawn(async move { HostSocket::bind(&socket, SOON).await });
        }
        let mut bound = Vec::new();
        while let Some(result) = binds.join_next().await {
            match result.unwrap() {
                Ok(socket) => bound.push(socket),
                Err(error) => assert!(matches!(error, BindError::AlreadyRunning(_)), "{error}"),
            }
        }
        assert_eq!(bound.len(), 1);
        // It ends without removing its socket, as after a kill.
    }
}

#[tokio::test]
async fn leaves_a_file_that_is_not_a_socket() {
    let place = Place::new();
    fs::write(place.socket(), "text").unwrap();
    let error = HostSocket::bind(&place.socket(), SOON).await.unwrap_err();
    assert!(matches!(error, BindError::NotASocket(_)), "{error}");
    assert_eq!(fs::read_to_string(place.socket()).unwrap(), "text");
}

#[tokio::test]
async fn stopping_host_leaves_a_socket_that_is_not_its_own() {
    let place = Place::new();
    let running = Running::start(&place.socket(), &Memory::new()).await;
    fs::remove_file(place.socket()).unwrap();
    let other = std::os::unix::net::UnixListener::bind(place.socket()).unwrap();
    running.stop().await;
    assert!(place.socket().exists());
    drop(other);
}

#[tokio::test]
async fn stopped_host_removes_its_socket() {
    let place = Place::new();
    let running = Running::start(&place.socket(), &Memory::new()).await;
    running.stop().await;
    assert!(!place.socket().exists());
}

#[tokio::test]
async fn host_that_neither_serves_nor_ends_is_reported() {
    let place = Place::new();
    let bound = HostSocket::bind(&place.socket(), SOON).await.unwrap();
    fs::remove_file(place.socket()).unwrap();
    let error = HostSocket::bind(&place.socket(), Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(error, BindError::LockHeld(_)), "{error}");
    drop(bound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_callers_start_one_host() {
    for stale in [false, true] {
        let place = Place::new();
        let memory = Memory::new();
        if stale {
            drop(HostSocket::bind(&place.socket(), SOON).await.unwrap());
        }
        let started = Arc::new(AtomicUsize::new(0));
        let hosts = Arc::new(Mutex::new(Vec::new()));
        let mut callers = JoinSet::new();
        for _ in 0..10 {
            let (socket, memory) = (place.socket(), Arc::clone(&memory));
            let (started, hosts) = (Arc::clone(&started), Arc::clone(&hosts));
            callers.spawn(async move {
                let start = || {
                    started.fetch_add(1, Ordering::SeqCst);
                    let (socket, memory, hosts) = (socket.clone(), Arc::clone(&memory), Arc::clone(&hosts));
                    tokio::spawn(async move {
                        // A program needs a moment until it listens.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        let running = Running::start(&socket, &memory).await;
                        hosts.lock().unwrap().push(running);
                    });
                    Ok(())
                };
                connect_or_start(&socket, SOON, start).await.unwrap().host().await.unwrap()
            });
        }
        callers.join_all().await;
        assert_eq!(started.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn finds_a_host_without_starting_one() {
    let place = Place::new();
    let _running = Running::start(&place.socket(), &Memory::new()).await;
    connect_or_start(&place.socket(), SOON, || panic!("must not start")).await.unwrap();
    remote(&place.socket()).host().await.unwrap();
}

#[tokio::test]
async fn reports_a_host_that_accepts_and_does_not_respond() {
    let place = Place::new();
    let _silent = std::os::unix::net::UnixListener::bind(place.socket()).unwrap();
    let wait = Duration::from_millis(50);
    let socket = place.socket();
    let starting = connect_or_start(&socket, wait, || panic!("must not start"));
    let problem = tokio::time::timeout(SOON, starting).await.unwrap().unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unavailable);
    let problem = tokio::time::timeout(SOON, stop(&place.socket(), wait)).await.unwrap().unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unavailable);
}

#[tokio::test]
async fn reports_a_host_that_does_not_start() {
    let place = Place::new();
    let wait = Duration::from_millis(50);
    let slow = connect_or_start(&place.socket(), wait, || Ok(())).await.unwrap_err();
    assert_eq!(slow.code, ProblemCode::Unavailable);
    let failed = || Err(std::io::Error::other("no such program"));
    let problem = connect_or_start(&place.socket(), wait, failed).await.unwrap_err();
    assert_eq!(problem.message, "cannot start a host: no such program");
}
