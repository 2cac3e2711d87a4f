//! A D-Bus session bus and a GNOME Keyring for a single test. Both end with the test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use crate::fixture::wait_for;
use crate::kit::Home;

/// The address of a home's bus.
pub(crate) fn address(home: &Home) -> String {
    format!("unix:path={}", home.path("desktop/bus").display())
}

/// A session bus. It does not activate services, so only what the test started answers.
pub(crate) struct Bus(Child);

/// An unlocked keyring.
pub(crate) struct Keyring(Child);

impl Bus {
    pub(crate) fn start(home: &Home) -> Self {
        let settings = format!(
            "<busconfig><type>session</type><listen>{}</listen><auth>EXTERNAL</auth><policy context='default'>\
             <allow send_destination='*'/><allow receive_sender='*'/><allow own='*'/></policy></busconfig>\n",
            address(home)
        );
        home.write("desktop/bus.conf", &settings);
        let mut command = Command::new("dbus-daemon");
        command.arg(format!("--config-file={}", home.path("desktop/bus.conf").display()));
        command.args(["--nofork", "--nopidfile", "--print-address=1"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("this test needs dbus-daemon: {error}"));
        // It prints its address once it listens.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("unix:"), "the bus printed {line:?}");
        Self(child)
    }
}

impl Keyring {
    pub(crate) fn start(home: &Home) -> Self {
        let mut command = program(home, "gnome-keyring-daemon");
        command.args(["--foreground", "--unlock", "--components=secrets"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("this test needs gnome-keyring-daemon: {error}"));
        child.stdin.take().unwrap().write_all(b"password").unwrap();
        wait_for("an unlocked keyring", || is_locked(home) == Some(false));
        Self(child)
    }

    /// Kills the keyring.
    pub(crate) fn kill(mut self) {
        end(&mut self.0);
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A password prompter that never answers.
pub(crate) struct SilentPrompter;

#[zbus::interface(name = "org.gnome.keyring.internal.Prompter")]
impl SilentPrompter {
    fn begin_prompting(&self, _callback: zbus::zvariant::OwnedObjectPath) {}
    fn stop_prompting(&self, _callback: zbus::zvariant::OwnedObjectPath) {}
}

impl SilentPrompter {
    /// Lives as long as the connection.
    pub(crate) async fn start(home: &Home) -> zbus::Connection {
        let bus = zbus::connection::Builder::address(address(home).as_str()).unwrap();
        let bus = bus.name("org.gnome.keyring.SystemPrompter").unwrap();
        bus.serve_at("/org/gnome/keyring/Prompter", Self).unwrap().build().await.unwrap()
    }
}

/// Locks the keyring. There is no display, so only a [`SilentPrompter`] can receive the unlock prompt.
pub(crate) fn lock(home: &Home) {
    let login = "array:objpath:/org/freedesktop/secrets/collection/login";
    send(home, &["/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock", login]).unwrap();
    assert_eq!(is_locked(home), Some(true));
}

fn is_locked(home: &Home) -> Option<bool> {
    let get = "org.freedesktop.DBus.Properties.Get";
    let of = "string:org.freedesktop.Secret.Collection";
    let said = send(home, &["/org/freedesktop/secrets/aliases/default", get, of, "string:Locked"])?;
    Some(said.contains("boolean true"))
}

/// The keyring's reply; `None` if it does not reply.
fn send(home: &Home, words: &[&str]) -> Option<String> {
    let mut command = program(home, "dbus-send");
    command.args(["--session", "--print-reply", "--reply-timeout=5000", "--dest=org.freedesktop.secrets"]);
    let output = command.args(words).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// The key that another program finds in the keyring for a provider.
pub(crate) fn key(home: &Home, provider: &str) -> String {
    secret_tool(home, &["lookup", "application", "lariat", "provider", provider])
}

/// The whole item that another program finds in the keyring for a provider.
pub(crate) fn item(home: &Home, provider: &str) -> String {
    secret_tool(home, &["search", "application", "lariat", "provider", provider])
}

fn secret_tool(home: &Home, words: &[&str]) -> String {
    let output = program(home, "secret-tool").args(words).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs secret-tool: {error}"));
    // secret-tool prints attributes to standard error.
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn program(home: &Home, name: &str) -> Command {
    let folder = home.path("desktop");
    std::fs::create_dir_all(folder.join("run")).unwrap();
    let mut command = Command::new(name);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("DBUS_SESSION_BUS_ADDRESS", address(home));
    command.env("HOME", &folder).env("XDG_DATA_HOME", folder.join("data"));
    command.env("XDG_RUNTIME_DIR", folder.join("run"));
    command
}
