//! A network namespace with a listener, connected to the machine by a link. Needs root.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(super) struct NetworkNamespace {
    name: String,
    link: String,
    listener: Child,
    hit: PathBuf,
    pub(super) address: String,
}

/// Reports that it is ready, then records every connection and packet in a file.
const LISTENER: &str = r#"
import select, socket, sys
t = socket.create_server((sys.argv[1], 7777)); u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind((sys.argv[1], 7777))
print("ready", flush=True)
while True:
    for s in select.select([t, u], [], [])[0]:
        (s.accept() if s is t else s.recv(100)); open(sys.argv[2], "a").write("hit\n")
"#;

impl NetworkNamespace {
    /// Creates the namespace. The error says why this machine does not allow it.
    pub(super) fn make(place: &Path) -> Result<Self, String> {
        let id = std::process::id();
        let (name, link, inner) = (format!("lariat-{id}"), format!("la{id}"), format!("lb{id}"));
        // A rarely used network of four addresses, another one for each process.
        let network = format!("10.231.{}.{}", id / 64 % 256, id % 64 * 4);
        let host = |last: u32| -> String {
            let (start, _) = network.rsplit_once('.').unwrap_or_default();
            format!("{start}.{}", id % 64 * 4 + last)
        };
        let (ours, theirs) = (host(1), host(2));
        let steps = [
            format!("netns add {name}"),
            format!("link add {link} type veth peer name {inner}"),
            format!("link set {inner} netns {name}"),
            format!("addr add {ours}/30 dev {link}"),
            format!("link set {link} up"),
            format!("-n {name} addr add {theirs}/30 dev {inner}"),
            format!("-n {name} link set {inner} up"),
        ];
        for step in &steps {
            if let Err(error) = ip(step) {
                remove(&name, &link);
                return Err(error);
            }
        }
        let hit = place.join("namespace-hit");
        let listener = Command::new("ip")
            .args(["netns", "exec", &name, "/usr/bin/python3", "-c", LISTENER, &theirs])
            .arg(&hit)
            .stdout(Stdio::piped())
            .spawn();
        let mut listener = listener.map_err(|error| {
            remove(&name, &link);
            error.to_string()
        })?;
        let mut ready = [0_u8; 5];
        if let Some(output) = &mut listener.stdout {
            let _ = std::io::Read::read(output, &mut ready);
        }
        Ok(Self { name, link, listener, hit, address: theirs })
    }

    /// Whether a program reached the listener since the last call.
    pub(super) fn was_reached(&self) -> bool {
        let reached = self.hit.exists();
        let _ = std::fs::remove_file(&self.hit);
        reached
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        let _ = self.listener.kill();
        let _ = self.listener.wait();
        remove(&self.name, &self.link);
    }
}

fn remove(name: &str, link: &str) {
    let _ = ip(&format!("link del {link}"));
    let _ = ip(&format!("netns del {name}"));
}

fn ip(words: &str) -> Result<(), String> {
    let done = Command::new("ip").args(words.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("ip {words}: {}", String::from_utf8_lossy(&done.stderr).trim()))
}
