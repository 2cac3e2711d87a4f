//! Commands stay inside their sandbox, on every backend that this machine supports.

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{Exit, Launch, ProcessResult, Supervisor};
use lariat_host::sandbox::{Backend, Policy, Rule, Sandbox};
use lariat_host::sandbox_probe::probe;

use crate::launch_helper::supervisors;
use crate::temp_directory::{TempDirectory, environment};

async fn backends() -> Vec<Backend> {
    let folder = TempDirectory::new();
    let found = probe(folder.path(), &environment()).await;
    assert_eq!(found.refused, [], "both backends must work on a machine that runs these tests");
    found.backends
}

/// Every backend, with programs started by this process and by a launch helper.
pub(crate) async fn ways() -> Vec<(Backend, Supervisor)> {
    let mut ways = Vec::new();
    for backend in backends().await {
        ways.extend(supervisors().await.map(|supervisor| (backend.clone(), supervisor)));
    }
    ways
}

pub(crate) async fn run(
    folder: &TempDirectory,
    (backend, supervisor): (&Backend, &Supervisor),
    policy: Policy,
    command: &str,
) -> ProcessResult {
    let launch = Launch::shell(command, folder.path())
        .with_environment(environment())
        .with_sandbox(Sandbox::new(policy, backend.clone()));
    supervisor.run(launch, &CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn allows_writes_only_in_the_workspace() {
    for (backend, supervisor) in ways().await {
        let (folder, outside) = (TempDirectory::new(), TempDirectory::new());
        let policy = Policy::workspace(folder.path(), None);
        let command = format!(
            "echo a > inside && cat inside; echo b > {}/x; echo code $?; echo c > .git; echo code $?",
            outside.path().display()
        );
        let done = run(&folder, (&backend, &supervisor), policy, &command).await;
        let text = done.output.text();
        assert!(text.starts_with("a\n") && text.matches("code 1").count() == 2, "{}: {text}", backend.name());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        let rules: Vec<_> = done.denials.iter().map(|denial| denial.rule.clone()).collect();
        assert_eq!(
            rules,
            [Rule::NotWritable, Rule::Protected(folder.path().join(".git"))],
            "{}",
            backend.name()
        );
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["inside"], "{}", backend.name());
    }
}

#[tokio::test]
async fn reports_a_denied_system_call() {
    for (backend, supervisor) in ways().await {
        let folder = TempDirectory::new();
        let policy = Policy::workspace(folder.path(), None);
        let done = run(&folder, (&backend, &supervisor), policy, "unshare -U true; exit 3").await;
        assert_eq!(done.exit, Exit::Code(3));
        assert_eq!(
            done.denials.first().map(|denial| denial.to_string()).as_deref(),
            Some("unshare: the sandbox blocks this system call"),
            "{}: {:?}",
            backend.name(),
            done
        );
    }
}

#[tokio::test]
async fn limits_and_ends_a_fork_bomb() {
    for (backend, supervisor) in ways().await {
        let folder = TempDirectory::new();
        let mut policy = Policy::workspace(folder.path(), None);
        policy.processes = Some(301);
        let bomb =
            "bomb() { bomb | bomb & }; bomb 2>/dev/null; for i in 1 2 3 4 5; do sleep 0.05; done; echo over";
        let launch = Launch::shell(bomb, folder.path())
            .with_environment(environment())
            .with_time(Some(std::time::Duration::from_secs(3)))
            .with_sandbox(Sandbox::new(policy, backend.clone()));
        let started = std::time::Instant::now();
        let process = supervisor.start(launch).await.unwrap();
        let mut most = 0;
        while process.exit().is_none() {
            let count = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(|entry| {
                std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder.path())
            });
            most = most.max(count.count());
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert!(most <= 310, "{}: {most} processes", backend.name());
        let elapsed = started.elapsed();
        assert!(elapsed < std::time::Duration::from_secs(10), "{}: {elapsed:?}", backend.name());
    }
}

#[tokio::test]
async fn denies_local_sockets_by_path_and_never_connects() {
    for (backend, supervisor) in ways().await {
        let (folder, outside) = (TempDirectory::new(), TempDirectory::new());
        let path = outside.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        // Threads change the address as fast as they can while the judge reads it, which must not help.
        let script = format!(
            r#"
import ctypes, os, socket, threading, time
c = ctypes.CDLL(None, use_errno=True)
path = b"{}"
real = (1).to_bytes(2, "little") + path + bytes(108 - len(path))
other = (2).to_bytes(2, "little") + bytes(108)
box = ctypes.create_string_buffer(real, 110)
stop = False
def swap():
    while not stop:
        ctypes.memmove(box, other, 110); ctypes.memmove(box, real, 110)
thread = threading.Thread(target=swap); thread.start()
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
end = time.time() + 0.3
while time.time() < end:
    if c.connect(s.fileno(), box, 110) == 0: print("connected")
stop = True; thread.join()
try: s.send(b"hello")
except BrokenPipeError: print("not connected")
"#,
            path.display()
        );
        std::fs::write(folder.path().join("try.py"), script).unwrap();
        let done =
            run(&folder, (&backend, &supervisor), Policy::workspace(folder.path(), None), "python3 try.py")
                .await;
        assert_eq!(done.output.text(), "not connected\n", "{}", backend.name());
        assert!(listener.accept().is_err(), "{}: a connection arrived", backend.name());
        let what = format!("connecting to the local socket {}", path.display());
        let told = done.denials.iter().any(|denial| denial.what == what && denial.rule == Rule::LocalSockets);
        assert!(told, "{}: {:?}", backend.name(), done.denials);
    }
}

/// Checks what a command prints, on every backend, with a policy for its directory.
async fn prints(
    policy: impl Fn(&TempDirectory) -> Policy,
    prepare: impl Fn(&TempDirectory),
    command: &str,
    expected: &str,
) {
    for (backend, supervisor) in ways().await {
        let folder = TempDirectory::new();
        prepare(&folder);
        let done = run(&folder, (&backend, &supervisor), policy(&folder), command).await;
        assert_eq!(done.output.text(), expected, "{}: {:?}", backend.name(), done.denials);
    }
}

#[tokio::test]
async fn creates_files_in_a_guarded_directory_as_requested() {
    let command = "umask 027; mkdir a; echo x > b; stat -c %a a b; mkdir -p a/b/c; echo y > a/b/c/d; mv a e; cat e/b/c/d; \
        ln -s e/b f; cat f/c/d; ln b g; mkfifo h; test -p h && echo pipe; (set -C; echo z > b) 2>/dev/null || echo exists; \
        echo more >> b; cat b; rm -r e; mkdir e; touch e/x; ls; mv e/x i; mkdir -p k; mv i k; ls k; sed -i s/x/z/ b; cat b; \
        exec 3> j; echo three >&3; cat j; mkdir a/; rmdir a/; (echo o > m/n) 2>/dev/null || echo none";
    let expected = "750\n640\ny\ny\npipe\nexists\nx\nmore\nb\ne\nf\ng\nh\ni\nz\nmore\nthree\nnone\n";
    prints(|folder| Policy::workspace(folder.path(), None), |_| {}, command, expected).await;
}

#[tokio::test]
async fn recreated_directory_can_be_filled() {
    let prepare = |folder: &TempDirectory| std::fs::create_dir_all(folder.path().join("build/deep")).unwrap();
    let command = "touch build/deep/x; rm -rf build; mkdir build; touch build/y; mkdir build/z; touch build/z/w; mv build old; mkdir build; touch build/v old/u; find . | sort | tr '\\n' ' '";
    let expected = ". ./build ./build/v ./old ./old/u ./old/y ./old/z ./old/z/w ";
    prints(|folder| Policy::workspace(folder.path(), None), prepare, command, expected).await;
}

#[tokio::test]
async fn isolated_command_sees_only_workspace_system_and_listed_paths() {
    for (backend, supervisor) in ways().await {
        let (tenants, own) = (TempDirectory::new(), TempDirectory::new());
        let (neighbour, listed) = (tenants.path().join("b"), tenants.path().join("listed"));
        for folder in [&neighbour, &listed] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("x"), "CANARY\n").unwrap();
        }
        std::fs::write(tenants.path().join("server.toml"), "CANARY\n").unwrap();
        let policy = Policy::isolated(own.path()).with_readable([&listed]);
        let command = format!(
            "echo mine > a && cat a; cat {0}/b/x {0}/server.toml /etc/shadow /etc/hostname ~/.bashrc 2>/dev/null; ls {0}; cat {1}/x; echo x > {1}/y; \
             ls /home /srv /var /etc/lariat 2>/dev/null | grep -v : | grep -v '^$'; ls / > /dev/null && echo t > /tmp/t && cat /tmp/t; python3 -c 'print(6 * 7)'",
            tenants.path().display(),
            listed.display()
        );
        let done = run(&own, (&backend, &supervisor), policy, &command).await;
        let text = done.output.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("y: ")).collect();
        assert_eq!(lines, ["mine", "listed", "CANARY", "t", "42"], "{}: {text}", backend.name());
        assert!(!listed.join("y").exists());
    }
}

#[tokio::test]
async fn hidden_file_cannot_be_made_visible_by_moving_it() {
    for (backend, supervisor) in ways().await {
        let folder = TempDirectory::new();
        std::fs::create_dir_all(folder.path().join("a/secrets")).unwrap();
        std::fs::write(folder.path().join("a/secrets/k"), "CANARY\n").unwrap();
        std::fs::write(folder.path().join(".env"), "CANARY\n").unwrap();
        let mut policy = Policy::workspace(folder.path(), None);
        policy.hidden = vec![folder.path().join("a/secrets"), folder.path().join(".env")];
        let command = "mv a/secrets b; mv .env env; ln .env hard; mv a c; mv c/secrets d; cat a/secrets/k b/k c/secrets/k d/k env hard .env; \
            python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"c\", -100, b\"c/secrets\", 2)'; true";
        let done = run(&folder, (&backend, &supervisor), policy, command).await;
        assert!(!done.output.text().contains("CANARY"), "{}: {}", backend.name(), done.output.text());
    }
}
