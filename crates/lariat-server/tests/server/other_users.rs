//! Users keep out of each other's hosts. These tests need the superuser, and do nothing without it.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use lariat_api::{ProblemCode, Sessions};
use lariat_core::id::SessionId;
use rustix::process::Uid;

use crate::double::Memory;
use crate::fixture::{Fixture, Place, SOON};

/// Runs a function on a thread of another user; `None` if this process may not.
fn as_other_user<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only the superuser can become another user");
        return None;
    }
    let other = std::thread::spawn(move || {
        // The kernel keeps the user per thread; the other threads stay who they are.
        rustix::thread::set_thread_res_uid(Uid::from_raw(65534), Uid::from_raw(65534), Uid::from_raw(65534))
            .unwrap();
        work()
    });
    Some(other.join().unwrap())
}

fn request(socket: PathBuf) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    let mut text = String::new();
    stream.write_all(b"GET /v1/host HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_gives_no_response_to_another_user() {
    let fixture = Fixture::new(Memory::new()).await;
    let socket = fixture.place.socket();
    let own = tokio::task::spawn_blocking({
        let socket = socket.clone();
        || request(socket)
    });
    assert!(own.await.unwrap().unwrap().starts_with("HTTP/1.1 200"));
    let Some(refused) = as_other_user({
        let socket = socket.clone();
        || request(socket)
    }) else {
        return;
    };
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied, "by the modes of the files");
    // Even if someone opens both.
    fs::set_permissions(fixture.place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    let answer = as_other_user(|| request(socket)).unwrap();
    assert!(answer.as_ref().is_err() || answer.as_ref().is_ok_and(String::is_empty), "{answer:?}");
    // The host still serves its own user.
    fixture.remote().host().await.unwrap();
}

#[tokio::test]
async fn client_sends_nothing_to_the_host_of_another_user() {
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let socket = place.socket();
    let listening = as_other_user({
        let socket = socket.clone();
        || UnixListener::bind(socket).unwrap()
    });
    let Some(listener) = listening else { return };
    let remote = crate::fixture::remote(&socket);
    let problem = tokio::time::timeout(SOON, remote.view(&SessionId::new("s"))).await.unwrap().unwrap_err();
    assert_eq!(problem.code, ProblemCode::Forbidden);
    let (mut stream, _) = listener.accept().unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
}
