//! Programs and their whole process trees end, and their output is captured.

use std::time::{Duration, Instant};

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{
    CaptureLimits, End, Exit, Input, Launch, Output, ProcessResult, Size, Supervisor,
};

use crate::launch_helper::supervisors;
use crate::temp_directory::{TempDirectory, environment};

fn shell(folder: &TempDirectory, command: &str) -> Launch {
    Launch::shell(command, folder.path()).with_environment(environment())
}

async fn run(supervisor: &Supervisor, launch: Launch) -> ProcessResult {
    supervisor.run(launch, &CancellationToken::new()).await.unwrap()
}

fn alive(marker: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.contains(marker))
        .collect()
}

#[tokio::test]
async fn returns_exit_code_and_output_in_order() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let done = run(&supervisor, shell(&folder, "echo one; echo two >&2; echo three; exit 7")).await;
        assert_eq!((done.exit, done.end), (Exit::Code(7), End::Exited));
        assert_eq!(done.output.text(), "one\ntwo\nthree\n");
    }
}

#[tokio::test]
async fn separates_standard_error() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let done =
            run(&supervisor, shell(&folder, "echo one; echo two >&2").with_output(Output::Separate)).await;
        assert_eq!((done.output.text().as_str(), done.errors.text().as_str()), ("one\n", "two\n"));
    }
}

#[tokio::test]
async fn distinguishes_signals_from_exit_codes() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        assert_eq!(run(&supervisor, shell(&folder, "kill -9 $$")).await.exit, Exit::Signal(9));
        assert_eq!(run(&supervisor, shell(&folder, "exit 137")).await.exit, Exit::Code(137));
    }
}

#[tokio::test]
async fn program_reads_its_input() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let bytes = vec![b'x'; 300_000];
        let done = run(&supervisor, shell(&folder, "wc -c").with_input(Input::Bytes(bytes))).await;
        assert_eq!(done.output.text().trim(), "300000");
        assert_eq!(run(&supervisor, shell(&folder, "cat")).await.output.text(), "");
    }
}

#[tokio::test]
async fn missing_program_error_names_it() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let launch = Launch::new("no-such-program", folder.path()).with_environment(environment());
        let error = supervisor.run(launch, &CancellationToken::new()).await.unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");
        let launch = Launch::new("true", folder.path().join("missing")).with_environment(environment());
        let error = supervisor.run(launch, &CancellationToken::new()).await.unwrap_err();
        assert!(error.to_string().contains("working directory"), "{error}");
    }
}

#[tokio::test]
async fn inherits_only_standard_descriptors() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        // A descriptor that an embedding program left open for its children.
        let file = std::fs::File::open("/dev/null").unwrap();
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let done = run(&supervisor, shell(&folder, "ls -1 /proc/self/fd")).await;
        // The fourth belongs to `ls` itself.
        assert_eq!(done.output.text().split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    }
}

#[tokio::test]
async fn timeout_kills_a_command_that_ignores_sigterm() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let started = Instant::now();
        let command = "trap '' TERM INT HUP; echo up; while true; do sleep 0.7131; done";
        let done =
            run(&supervisor, shell(&folder, command).with_time(Some(Duration::from_millis(300)))).await;
        assert_eq!((done.exit, done.end), (Exit::Signal(9), End::TimedOut));
        assert_eq!(done.output.text(), "up\n");
        assert!(started.elapsed() < Duration::from_millis(2300), "{:?}", started.elapsed());
        assert_eq!(alive("sleep\u{0}0.7131"), Vec::<String>::new());
    }
}

#[tokio::test]
async fn ends_a_daemon_with_its_command() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        // Forks twice, starts its own session, ignores SIGTERM, and keeps the output open.
        let daemon = "(setsid bash -c 'trap \"\" TERM HUP; exec -a daemon-7132 sleep 713' &); echo started";
        let started = Instant::now();
        let done = run(&supervisor, shell(&folder, daemon)).await;
        assert_eq!((done.exit, done.end), (Exit::Code(0), End::Exited));
        assert_eq!(done.output.text(), "started\n");
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        assert_eq!(alive("daemon-7132"), Vec::<String>::new());
    }
}

#[tokio::test]
async fn cancelling_ends_the_command() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let cancel = CancellationToken::new();
        let launch = shell(&folder, "touch up; sleep 7133");
        let up = folder.path().join("up");
        let canceller = cancel.clone();
        let (done, ()) = tokio::join!(supervisor.run(launch, &cancel), async move {
            while !up.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            canceller.cancel();
        });
        assert_eq!(done.unwrap().end, End::Cancelled);
        assert_eq!(alive("sleep\u{0}7133"), Vec::<String>::new());
    }
}

#[tokio::test]
async fn dropping_the_future_ends_the_command() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let (launch, cancel) = (shell(&folder, "sleep 7134"), CancellationToken::new());
        let run = tokio::time::timeout(Duration::from_millis(100), supervisor.run(launch, &cancel));
        assert!(run.await.is_err());
        supervisor.stop_all().await;
        assert_eq!(alive("sleep\u{0}7134"), Vec::<String>::new());
    }
}

#[tokio::test]
async fn dropping_the_supervisor_ends_everything() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let process = supervisor.start(shell(&folder, "sleep 7135 & sleep 7135")).await.unwrap();
        assert_eq!(supervisor.list().len(), 1);
        drop(supervisor);
        let done = tokio::time::timeout(Duration::from_secs(2), process.wait()).await.unwrap();
        assert_eq!(done.end, End::Stopped);
        assert_eq!(alive("sleep\u{0}7135"), Vec::<String>::new());
    }
}

#[tokio::test]
async fn background_command_is_read_written_to_and_stopped() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let launch =
            shell(&folder, "while read -r line; do echo \"got $line\"; done; echo closed; sleep 7136")
                .with_input(Input::Written)
                .with_time(None);
        let process = supervisor.start(launch).await.unwrap();
        process.write(b"one\n").await.unwrap();
        let mut mark = 0;
        let mut seen = String::new();
        while !seen.contains("got one") {
            let reading = process.read(mark);
            mark = reading.mark;
            seen.push_str(&String::from_utf8_lossy(&reading.bytes));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        process.close_input().await;
        while !String::from_utf8_lossy(&process.read(0).bytes).contains("closed") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(process.exit(), None);
        let done = process.stop().await;
        assert_eq!((done.end, done.output.text().as_str()), (End::Stopped, "got one\nclosed\n"));
        assert_eq!(alive("sleep\u{0}7136"), Vec::<String>::new());
        supervisor.forget(process.id());
        assert!(supervisor.list().is_empty());
    }
}

#[tokio::test]
async fn provides_a_terminal() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let size = Size { rows: 30, columns: 100 };
        let launch = shell(&folder, "tty -s && stty size; read -r line; echo \"<$line>\"")
            .with_output(Output::Terminal(size))
            .with_time(Some(Duration::from_secs(10)));
        let process = supervisor.start(launch).await.unwrap();
        process.write(b"typed\n").await.unwrap();
        let done = process.wait().await;
        let text = done.output.text();
        assert!(text.contains("30 100") && text.contains("<typed>"), "{text:?}");
        assert_eq!(done.exit, Exit::Code(0));
    }
}

#[tokio::test]
async fn endless_output_uses_bounded_memory() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let spill = folder.path().join("spill");
        let limits =
            CaptureLimits { spill: Some(spill.clone()), spill_limit: 1024 * 1024, head: 1000, tail: 1000 };
        let launch =
            shell(&folder, "yes 7137").with_capture(limits).with_time(Some(Duration::from_millis(400)));
        let done = run(&supervisor, launch).await;
        assert_eq!(done.end, End::TimedOut);
        assert_eq!((done.output.head.len(), done.output.tail.len()), (1000, 1000));
        assert!(done.output.total > 1024 * 1024);
        assert_eq!(done.output.spilled, 1024 * 1024);
        assert_eq!(std::fs::metadata(spill).unwrap().len(), 1024 * 1024);
    }
}

#[tokio::test]
async fn piped_output_loses_nothing_however_slowly_it_is_read() {
    for supervisor in supervisors().await {
        let folder = TempDirectory::new();
        let launch = shell(&folder, "seq 1 200000; echo error >&2").with_output(Output::Piped);
        let process = supervisor.start(launch).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(process.exit(), None, "the program waits for the reader");
        let (mut text, mut buffer) = (Vec::new(), vec![0; 1000]);
        loop {
            let read = process.read_output(&mut buffer).await.unwrap();
            if read == 0 {
                break;
            }
            text.extend_from_slice(&buffer[..read]);
        }
        let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
        assert!(text == expected.as_bytes(), "{} of {} bytes", text.len(), expected.len());
        assert_eq!(process.wait().await.errors.text(), "error\n");
    }
}
