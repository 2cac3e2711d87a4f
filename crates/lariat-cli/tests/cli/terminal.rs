//! Runs the program in a real terminal (tmux) and tests screen, questions and input.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use lariat_proofs::server::Script;

use crate::fixture::{Fixture, PATIENCE};

static SERVERS: AtomicU32 = AtomicU32::new(0);

/// A terminal that runs the program.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    /// Starts the program. When it ends, `ended: CODE` appears on the screen.
    pub(crate) fn start(fixture: &Fixture, args: &[&str]) -> Self {
        Self::narrow(fixture, args, "90")
    }

    /// Starts the program with this width.
    pub(crate) fn narrow(fixture: &Fixture, args: &[&str], columns: &str) -> Self {
        let quoted: Vec<String> =
            args.iter().map(|arg| format!("'{}'", arg.replace('\'', r"'\''"))).collect();
        Self::script(fixture, &format!("lariat {}", quoted.join(" ")), columns)
    }

    /// Runs a shell command line in which `lariat` is the program. When it ends and the terminal mode is restored, `ended:
    /// CODE` appears on the screen.
    pub(crate) fn script(fixture: &Fixture, line: &str, columns: &str) -> Self {
        let check = "case \"$(stty -a)\" in *' -icanon'*|*' -echo '*) echo 'the terminal mode was not restored';; \
                     *) echo \"ended: $code\";; esac";
        Self::run(fixture, &format!("trap : INT\n{line}\ncode=$?\n{check}\nexec cat\n"), columns)
    }

    /// Starts an interactive shell in which `lariat` is the program.
    pub(crate) fn shell(fixture: &Fixture) -> Self {
        Self::run(fixture, "export PS1='ready$ '\nexec bash --norc -i\n", "90")
    }

    fn run(fixture: &Fixture, rest: &str, columns: &str) -> Self {
        let command = fixture.command(&[]);
        let variables =
            command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        let exports: String = variables.map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        let folder = std::path::Path::new(env!("CARGO_BIN_EXE_lariat")).parent().unwrap();
        let script = format!(
            "cd '{}'\n{exports}export TERM=xterm-256color\nexport PATH='{}':\"$PATH\"\n{rest}",
            fixture.workspace().display(),
            folder.display(),
        );
        let path = fixture.path("terminal.sh");
        std::fs::write(&path, script).unwrap();
        // A server that just ended may still own its socket.
        let socket = fixture.path(&format!("tmux-{}", SERVERS.fetch_add(1, Ordering::Relaxed)));
        let terminal = Self { socket: socket.display().to_string() };
        let shell = format!("sh '{}'", path.display());
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", "40", &shell]);
        terminal
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-S", &self.socket]).args(args).output();
        let output = output.unwrap_or_else(|error| panic!("this test needs tmux: {error}"));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J"])
    }

    /// The screen with its color sequences.
    pub(crate) fn colours(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    #[track_caller]
    pub(crate) fn shows(&self, words: &str) {
        let begun = std::time::Instant::now();
        while !self.screen().contains(words) {
            assert!(begun.elapsed() < PATIENCE, "`{words}` is not on the screen:\n{}", self.screen());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Waits until a text is on the screen `times` times.
    #[track_caller]
    pub(crate) fn shows_times(&self, words: &str, times: usize) {
        let begun = std::time::Instant::now();
        while self.screen().matches(words).count() < times {
            assert!(
                begun.elapsed() < PATIENCE,
                "`{words}` is not on the screen {times} times:\n{}",
                self.screen()
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    pub(crate) fn types(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

const TOUCH: &str = r#"!call bash {"command":"touch made"}"#;

async fn asking() -> Fixture {
    Fixture::new(Script::tool_loop()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_lets_the_call_run() {
    let fixture = asking().await;
    let terminal = Terminal::start(&fixture, &["run", TOUCH, "--mode", "default"]);
    terminal.shows("Allow bash?");
    terminal.shows("touch made");
    assert!(!fixture.workspace().join("made").exists());
    terminal.shows("y/s/a/n/e>");
    terminal.types(&["maybe", "Enter"]);
    terminal.shows("Press one of the keys");
    assert!(!fixture.workspace().join("made").exists(), "an unclear answer is asked again");
    terminal.shows_times("y/s/a/n/e>", 2);
    terminal.types(&["y", "Enter"]);
    terminal.shows("ended: 0");
    assert!(fixture.workspace().join("made").exists());
    let screen = terminal.screen();
    assert!(screen.contains("2 turns") && screen.contains("continue: lariat run --resume"), "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn denial_blocks_the_call_and_its_reason_reaches_the_model() {
    let fixture = asking().await;
    let terminal = Terminal::start(&fixture, &["run", TOUCH, "--mode", "default"]);
    terminal.shows("y/s/a/n/e>");
    terminal.types(&["e"]);
    terminal.shows("reason>");
    terminal.types(&["use another name", "Enter"]);
    terminal.shows("ended: 0");
    assert!(!fixture.workspace().join("made").exists());
    terminal.shows("denied: use another name");
}

#[tokio::test(flavor = "multi_thread")]
async fn end_of_input_denies() {
    let fixture = asking().await;
    let terminal = Terminal::start(&fixture, &["run", TOUCH, "--mode", "default"]);
    terminal.shows("y/s/a/n/e>");
    terminal.types(&["C-d"]);
    terminal.shows("ended: 0");
    assert!(!fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn model_can_ask_the_user() {
    let fixture = asking().await;
    let question = r#"!call ask_user {"question":"Which colour?","options":["red","blue"]}"#;
    let terminal = Terminal::start(&fixture, &["run", question]);
    terminal.shows("Which colour?");
    terminal.shows("\n> ");
    terminal.types(&["2", "Enter"]);
    terminal.shows("ended: 0");
    terminal.shows("“blue”");
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_prints_resume_command_that_works() {
    let fixture = asking().await;
    let terminal = Terminal::start(&fixture, &["run", "!silence"]);
    terminal.shows("waiting for the model");
    terminal.types(&["C-c"]);
    terminal.shows("ended: 130");
    terminal.shows("stopped; the session is saved");
    terminal.shows("continue: lariat run --resume");
    drop(terminal);
    let terminal = Terminal::start(&fixture, &["run", "--continue", r#"!say "Here again.""#]);
    terminal.shows("ended: 0");
    terminal.shows("Here again.");
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_fits_terminal_and_is_complete_in_a_pipe() {
    let fixture = asking().await;
    let prompt = format!(r#"!say "{}""#, "many words ".repeat(4));
    fixture.run(&["run", &prompt]).expect(0);
    let terminal = Terminal::narrow(&fixture, &["sessions", "list"], "60");
    terminal.shows("ended: 0");
    let screen = terminal.screen();
    assert!(screen.contains("just now") && screen.contains("!say"), "{screen}");
    let widest = screen.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(60), "{screen}");
    assert!(!screen.contains(&prompt), "{screen}");
    let piped = fixture.run(&["sessions", "list"]).expect(0).stdout;
    assert!(piped.contains("ACTIVE (UTC)") && piped.contains(&prompt), "{piped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_shows_full_configuration_and_marks_changes() {
    let fixture = asking().await;
    let settings = |value: &str| format!("{{ \"env\": {{ \"A\": \"{value}\" }} }}\n");
    std::fs::create_dir_all(fixture.workspace().join(".claude")).unwrap();
    fixture.write(".claude/settings.json", settings("before"));
    fixture.run(&["trust", "--yes"]).expect(0);
    let hidden = format!("{}end", "x".repeat(80));
    fixture.write(".claude/settings.json", settings(&hidden));
    let terminal = Terminal::narrow(&fixture, &["trust"], "60");
    terminal.shows("Trust this project with exactly this configuration?");
    let screen = terminal.screen();
    assert!(screen.contains(&format!("A={hidden}")), "the configuration is not cut: {screen}");
    assert!(screen.contains("1 -") && screen.contains("1 +"), "{screen}");
    // The end of the new value is in the continued line, and the changed word is marked.
    assert_eq!(screen.matches("xend").count(), 2, "{screen}");
    assert!(terminal.colours().contains("\u{1b}[31m"), "{}", terminal.colours());
    terminal.types(&["n", "Enter"]);
    terminal.shows("ended: 0");
    let piped = fixture.run(&["trust"]).expect(2).stdout;
    assert!(
        piped.contains("--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1 +1 @@\n"),
        "{piped}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_message_waits_on_screen_and_is_sent_when_the_model_would_stop() {
    let fixture = asking().await;
    let slow = r#"!call bash {"command":"sleep 2; echo slept"}"#;
    let terminal = Terminal::start(&fixture, &["run", slow]);
    terminal.shows("Enter steers, Tab queues");
    terminal.shows("bash ");
    terminal.types(&["-l", r#"!say "Queued answer.""#]);
    terminal.shows("Enter: send now, Tab: queue for after this run");
    terminal.types(&["Tab"]);
    terminal.shows("  queued: !say");
    terminal.shows("1 queued");
    terminal.shows("ended: 0");
    let screen = terminal.screen();
    let first = screen.find("The tools said").unwrap_or_else(|| panic!("{screen}"));
    let sent = screen.find("you: !say").unwrap_or_else(|| panic!("{screen}"));
    let answer = screen.rfind("Queued answer.").unwrap_or_else(|| panic!("{screen}"));
    assert!(first < sent && sent < answer, "{screen}");
    assert!(!screen.contains("  queued:"), "{screen}");
    assert_eq!(fixture.requests().len(), 3, "the queued message does not interrupt the first task");
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_message_survives_an_interrupt_and_the_next_run_sends_it() {
    let fixture = asking().await;
    let terminal = Terminal::start(&fixture, &["run", "!silence"]);
    terminal.shows("waiting for the model");
    // Alt+Enter is the same as Tab.
    terminal.types(&["-l", r#"!say "After the break.""#]);
    terminal.types(&["M-Enter"]);
    terminal.shows("1 queued");
    terminal.types(&["C-c"]);
    terminal.shows("ended: 130");
    terminal.shows("still queued, the next run of this session sends it: !say");
    drop(terminal);
    let terminal = Terminal::start(&fixture, &["run", "--continue", r#"!say "First this.""#]);
    terminal.shows("ended: 0");
    terminal.shows("After the break.");
}
