//! Starts private PostgreSQL servers for tests, in a temporary directory with a socket, and removes them
//! afterwards.
//!
//! They sync like real ones. The tests of a run share one server, each with its own database; a test that
//! kills its server starts its own.
//! Invariant: no server outlives its tests, however they end. A shell process beside it waits until they are
//! gone, then stops the server and removes the directory.

#![expect(clippy::disallowed_methods, reason = "starts a real server and reads where to find another one")]
#![expect(clippy::panic, reason = "a test without its server must fail, and say why")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Environment variable that names an existing server, as `key=value` pairs; its databases are not removed.
pub const VARIABLE: &str = "LARIAT_TEST_POSTGRES";

/// Where Debian and its derivatives install PostgreSQL.
const DEBIAN: &str = "/usr/lib/postgresql";

/// PostgreSQL refuses to run as root; these users are tried instead.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// Enough for tests that run in parallel on a large machine, each with a few pools.
const CONNECTIONS: &str = "500";

/// Waits, then stops the server. Arguments: the directory, the process to wait for (empty: wait for the end
/// of the input), and the command that stops the server. Signals that end a test run do not end it before its
/// work is done.
const KEEPER: &str = r#"trap '' TERM INT HUP; folder=$1; process=$2; shift 2
if [ -z "$process" ]; then cat; else while kill -0 "$process" 2>/dev/null; do sleep 1; done; fi
"$@"; rm -rf "$folder" "$folder.lock""#;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A running server.
///
/// ```no_run
/// let server = lariat_proofs::postgres::Server::start();
/// let database = server.database();
/// server.kill();
/// server.resume();
/// ```
#[derive(Debug)]
pub struct Server {
    /// Connection parameters without a database.
    address: String,
    programs: PathBuf,
    own: Option<OwnedServer>,
}

/// Only for a server that was started for one test.
#[derive(Debug)]
struct OwnedServer {
    user: Option<&'static str>,
    folder: PathBuf,
    keeper: Child,
}

impl Server {
    /// Starts a server that stops on drop, or when this process ends.
    ///
    /// # Panics
    /// Panics if PostgreSQL is not installed or does not start.
    pub fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("lariat-postgres-{}-{}", std::process::id(), count()));
        Self::start_in(folder, None)
    }

    /// Returns the server that all tests of a run share: the one named by the environment ([`VARIABLE`]), or
    /// one that the first test starts and that ends with the process that started the tests.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn shared() -> Self {
        let server = |address| Self { address, programs: programs(), own: None };
        if let Ok(address) = std::env::var(VARIABLE) {
            return server(address);
        }
        let run = std::os::unix::process::parent_id();
        let folder = std::env::temp_dir().join(format!("lariat-postgres-run-{run}"));
        let lock = folder.with_extension("lock");
        let first = File::create(&lock).and_then(|file| file.lock().map(|()| file));
        let _first = first.unwrap_or_else(|error| panic!("cannot lock {}: {error}", lock.display()));
        let ready = folder.join("ready");
        if !ready.exists() {
            let mut started = Self::start_in(folder.clone(), Some(run));
            // Its keeper waits for the test run, not for this process.
            started.own = None;
            File::create(&ready).unwrap_or_else(|error| panic!("cannot make {}: {error}", ready.display()));
        }
        server(address(&folder))
    }

    fn start_in(folder: PathBuf, run: Option<u32>) -> Self {
        let programs = programs();
        let user = unprivileged_user();
        std::fs::create_dir(&folder)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
        if let Some(user) = user {
            command_output(Command::new("chown").arg(user).arg(&folder));
        }
        let data = folder.join("data");
        let mut stop = command(user, &programs.join("pg_ctl"));
        stop.args(["-m", "immediate", "-s", "stop", "-D"]).arg(&data);
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&folder)
            .arg(run.map(|run| run.to_string()).unwrap_or_default())
            .arg(stop.get_program())
            .args(stop.get_args())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start the server's keeper: {error}"));
        let address = address(&folder);
        let server = Self { address, programs, own: Some(OwnedServer { user, folder, keeper }) };
        command_output(
            server
                .command("initdb")
                .args([
                    "--auth=trust",
                    "--username=postgres",
                    "--encoding=UTF8",
                    "--locale=C",
                    "--no-sync",
                    "-D",
                ])
                .arg(data),
        );
        server.resume();
        server
    }

    /// Creates an empty database and returns its connection parameters as `key=value` pairs.
    ///
    /// # Panics
    /// Panics if the server refuses.
    pub fn database(&self) -> String {
        let name = format!("test_{}_{}", std::process::id(), count());
        self.sql(&format!("{} dbname=postgres", self.address), &format!("CREATE DATABASE {name}"));
        format!("{} dbname={name}", self.address)
    }

    /// Executes SQL in a database with another program and returns its output.
    ///
    /// # Panics
    /// Panics if the server refuses.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let psql = self.programs.join("psql");
        command_output(Command::new(psql).args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            sql,
            "-d",
            database,
        ]))
    }

    /// Path of a program that comes with PostgreSQL.
    ///
    /// # Panics
    /// Panics if PostgreSQL is not installed.
    pub fn program(name: &str) -> PathBuf {
        programs().join(name)
    }

    /// Kills the server like a crash: without a checkpoint, with all connections cut.
    ///
    /// # Panics
    /// Panics if the server was not started here, or is not running.
    pub fn kill(&self) {
        let data = self.own().folder.join("data");
        command_output(self.command("pg_ctl").args(["-m", "immediate", "-w", "-s", "stop", "-D"]).arg(data));
    }

    /// Starts the server again.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn resume(&self) {
        let folder = &self.own().folder;
        self.start_with(&format!("-N {CONNECTIONS} -k {} -c listen_addresses=''", folder.display()));
    }

    /// Starts the server again with TLS, on a port of 127.0.0.1, with a certificate for `localhost` that a
    /// new authority signed. Returns the port and the authority's certificate.
    ///
    /// # Panics
    /// Panics if it does not start, or if `openssl` is not installed.
    pub fn resume_with_tls(&self) -> (u16, PathBuf) {
        let folder = &self.own().folder;
        let script = "set -e; cd \"$1\"; umask 077
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-authority -keyout ca.key -out ca.pem
            openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr
            printf 'subjectAltName=DNS:localhost' > names
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
            chmod 644 ca.pem";
        command_output(
            command(self.own().user, Path::new("sh")).args(["-c", script, "certificates"]).arg(folder),
        );
        // The kernel picks a free port; another program could take it before the server does, and the start would fail.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.unwrap_or_else(|error| panic!("no free port: {error}")).port();
        let at = folder.display();
        self.start_with(&format!(
            "-N {CONNECTIONS} -k {at} -c listen_addresses=127.0.0.1 -c port={port} -c ssl=on -c ssl_cert_file={at}/server.pem -c ssl_key_file={at}/server.key"
        ));
        (port, folder.join("ca.pem"))
    }

    fn start_with(&self, options: &str) {
        let folder = &self.own().folder;
        command_output(
            self.command("pg_ctl")
                .args(["-w", "-s", "start", "-o", options, "-l"])
                .arg(folder.join("log"))
                .arg("-D")
                .arg(folder.join("data")),
        );
    }

    fn own(&self) -> &OwnedServer {
        self.own
            .as_ref()
            .unwrap_or_else(|| panic!("the server named by {VARIABLE} was not started by this test"))
    }

    fn command(&self, program: &str) -> Command {
        command(self.own().user, &self.programs.join(program))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(own) = &mut self.own {
            drop(own.keeper.stdin.take());
            let _ = own.keeper.wait();
        }
    }
}

fn address(folder: &Path) -> String {
    format!("host={} user=postgres", folder.display())
}

fn count() -> u32 {
    COUNT.fetch_add(1, Ordering::Relaxed)
}

fn programs() -> PathBuf {
    let debian =
        std::fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    let version = |path: &PathBuf| {
        let version = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse().ok());
        version.unwrap_or(0_u32)
    };
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut places: Vec<PathBuf> = debian.collect();
    places.sort_by_key(|path| std::cmp::Reverse(version(path)));
    places.extend(on_path.unwrap_or_default());
    places.into_iter().find(|place| place.join("initdb").exists()).unwrap_or_else(|| {
        panic!("these tests need a PostgreSQL server, and none is installed: apt-get install postgresql")
    })
}

/// The user that runs the server: another one if this process is root.
fn unprivileged_user() -> Option<&'static str> {
    if command_output(Command::new("id").arg("-u")).trim() != "0" {
        return None;
    }
    let exists =
        |user: &&&str| Command::new("id").args(["-u", user]).output().is_ok_and(|id| id.status.success());
    let user = USERS.iter().find(exists).copied();
    Some(
        user.unwrap_or_else(|| {
            panic!("PostgreSQL does not run as root, and none of the users {USERS:?} exists")
        }),
    )
}

fn command(user: Option<&str>, program: &Path) -> Command {
    let Some(user) = user else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), &format!("--regid={}", group(user)), "--clear-groups", "--"]);
    command.arg(program).current_dir("/");
    command
}

fn group(user: &str) -> String {
    command_output(Command::new("id").args(["-g", user])).trim().to_owned()
}

fn command_output(command: &mut Command) -> String {
    // A program passes its input on to the server that it starts; a pipe would never end.
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        panic!("{command:?} failed: {}{}", text(&output.stdout), text(&output.stderr));
    }
    text(&output.stdout)
}
