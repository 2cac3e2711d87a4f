//! Proves that no secret leaves its place: fifty canaries are put in the way of the program, which then uses its features
//! until everything that it left, printed and sent is searched for them.
//!
//! `canary` lists where each is planted and where it belongs, `model` and `recorder` are the servers, `search` finds
//! sightings. Some runs end in panics: the program may open too few files.

mod canary;
mod model;
mod recorder;
mod search;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use lariat_proofs::server::{Server, Wire};

use canary::Canary;
use recorder::{Part, Recorder};

use crate::home::{Ended, Home};

/// What the program runs after its sessions exist. `@` stands for the newest session.
const COMMANDS: &[&[&str]] = &[
    &["doctor"],
    &["doctor", "--json"],
    &["config", "show"],
    &["config", "show", "--json"],
    &["auth", "status", "--json"],
    &["models", "list"],
    &["mcp", "list"],
    &["mcp", "list", "--json"],
    &["mcp", "get", "local"],
    &["mcp", "get", "issues"],
    &["mcp", "test", "local"],
    &["mcp", "test", "issues"],
    &["mcp", "test", "tracker"],
    &["mcp", "logs", "local"],
    &["permissions", "list"],
    &["trust", "--json"],
    &["context", "show"],
    &["sessions", "list"],
    &["sessions", "list", "--json"],
    &["sessions", "show", "@"],
    &["sessions", "export", "@"],
    &["sessions", "cost", "@"],
    &["sessions", "verify", "@"],
    &["replay", "@"],
    &["undo", "--list"],
];

/// Limits of open files, at some of which the program cannot even start.
const TOO_FEW_FILES: [u32; 10] = [5, 6, 7, 8, 9, 10, 12, 14, 17, 20];
/// Faults that are printed.
const SHOWN: usize = 60;
/// What the program prints for a panic.
const PANIC: &str = "because of a bug";
/// What Rust prints for a panic without the program's own report.
const RUST_PANIC: &str = "panicked at";

/// A mistake that the program could have, imitated by how it is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Commands receive a variable with a secret.
    PassesVariable,
    /// A secret that has no known form is part of the prompt.
    KeepsPrompt,
    /// Telemetry names a secret.
    NamesService,
    /// Other users can read the sessions.
    OpensSessions,
}

impl Mistake {
    const ALL: [Self; 4] = [Self::PassesVariable, Self::KeepsPrompt, Self::NamesService, Self::OpensSessions];

    /// A part of the fault that must be found.
    const fn trace(self) -> &'static str {
        match self {
            Self::PassesVariable => "in file work/child-environment",
            Self::KeepsPrompt => "in file state/lariat/sessions.db",
            Self::NamesService => "in collector: body",
            Self::OpensSessions => "can be read by others",
        }
    }
}

/// What one pass found.
struct Report {
    faults: Vec<String>,
    runs: usize,
    files: usize,
    requests: usize,
    panics: usize,
}

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let program = crate::home::program(options)?;
    let start = Instant::now();
    if options.contains(&"--planted") {
        return planted(&program);
    }
    let report = prove(&program, None)?;
    for fault in report.faults.iter().take(SHOWN) {
        println!("  {fault}");
    }
    println!(
        "{} canaries in {} runs of the program, {} of which panicked: {} files, {} parts of requests; {} sightings and other faults; {:.1} s",
        canary::COUNT,
        report.runs,
        report.panics,
        report.files,
        report.requests,
        report.faults.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(report.faults.is_empty())
}

fn planted(program: &Path) -> Result<bool, String> {
    let mut caught = 0;
    for mistake in Mistake::ALL {
        let report = prove(program, Some(mistake))?;
        match report.faults.iter().find(|fault| fault.contains(mistake.trace())) {
            Some(fault) => {
                caught += 1;
                println!("{mistake:?}: noticed {} times: {fault}", report.faults.len());
            }
            None => println!("{mistake:?}: NOT NOTICED, {:?}", report.faults.first()),
        }
    }
    println!("{caught} of {} planted mistakes caught", Mistake::ALL.len());
    Ok(caught == Mistake::ALL.len())
}

fn prove(program: &Path, mistake: Option<Mistake>) -> Result<Report, String> {
    let words = |error: std::io::Error| error.to_string();
    let canaries = canary::all();
    if canaries.len() != canary::COUNT {
        return Err(format!("{} canaries, not {}", canaries.len(), canary::COUNT));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(words)?;
    let server = runtime.block_on(Server::start(model::script(&canaries))).map_err(words)?;
    let recorder = Recorder::start().map_err(words)?;
    let home = home(program, &canaries, &server, &recorder, mistake).map_err(words)?;

    let mut parts = Vec::new();
    let mut runs = 0;
    let mut run = |arguments: &[&str]| -> Result<Ended, String> {
        runs += 1;
        let ended = home.run(arguments)?;
        keep(
            &mut parts,
            &format!("`lariat {}`", arguments.join(" ").chars().take(40).collect::<String>()),
            &ended,
        );
        Ok(ended)
    };
    let secret = match mistake {
        Some(Mistake::KeepsPrompt) => canary::value(&canaries, "SERVICE_PASSWORD").to_owned(),
        _ => canary::values(&canaries, "prompt").collect::<Vec<_>>().join(" "),
    };
    let prompt = format!("Log in with {secret}");
    let first = run(&["run", "--verbose", &prompt])?;
    run(&["run", "--output", "stream-json", &prompt])?;
    run(&["run", "--output", "json", "--continue", "And again."])?;
    for (word, _) in model::REFUSED {
        run(&["run", "--verbose", word])?;
        run(&["run", "--output", "json", word])?;
    }
    run(&["run", "--model", "gone/m", "Hello."])?;
    run(&["run", "--model", "coded/m", "Hello."])?;
    let listed = run(&["sessions", "list", "--json"])?;
    let sessions: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    let newest = sessions.pointer("/0/session_id").and_then(serde_json::Value::as_str).unwrap_or_default();
    for command in COMMANDS {
        let command: Vec<&str> =
            command.iter().map(|word| if *word == "@" { newest } else { word }).collect();
        run(&command)?;
    }
    let panics = panic_runs(&home, &mut parts)?;
    runs += TOO_FEW_FILES.len();

    let mut faults = Vec::new();
    if first.code != Some(0) {
        faults.push(format!(
            "the first run ended with {:?}: {}",
            first.code,
            String::from_utf8_lossy(&first.stderr)
        ));
    }
    if panics == 0 {
        faults.push("no run panicked: their output was not seen".to_owned());
    }
    if mistake == Some(Mistake::OpensSessions) {
        let path = home.path("state/lariat/sessions.db");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).map_err(words)?;
    }
    let files = files(&home.path(""), Path::new("")).map_err(words)?;
    faults.extend(files.iter().filter_map(|(name, mode, _)| {
        let is_private = name.starts_with("state/lariat") || name == "config/lariat/config.toml";
        (is_private && mode & 0o077 != 0)
            .then(|| format!("{name} can be read by others: mode {:o}", mode & 0o777))
    }));
    let count = files.len();
    parts.extend(files.into_iter().map(|(name, _, bytes)| (format!("file {name}"), bytes)));
    let requests: Vec<Part> = model::parts(&server.requests()).into_iter().chain(recorder.parts()).collect();
    let sent = requests.len();
    parts.extend(requests);
    faults.extend(unseen(&canaries, &parts));
    faults.extend(search::sightings(&canaries, &parts));
    Ok(Report { faults, runs, files: count, requests: sent, panics })
}

/// Runs the program with too few open files. Returns how many runs panicked.
fn panic_runs(home: &Home, parts: &mut Vec<Part>) -> Result<usize, String> {
    let mut panics = 0;
    for limit in TOO_FEW_FILES {
        let program = home.command(&["run", "--verbose", "Hello."]);
        let mut command = Command::new("bash");
        command.args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "bash"]);
        command.arg(program.get_program()).args(program.get_args()).current_dir(home.path("work"));
        command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().map_err(|error| error.to_string())?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        panics += usize::from(stderr.contains(PANIC) || stderr.contains(RUST_PANIC));
        parts.push((format!("stdout with {limit} open files"), output.stdout));
        parts.push((format!("stderr with {limit} open files"), output.stderr));
    }
    Ok(panics)
}

/// Canaries that nothing used: the proof would not have seen them.
fn unseen(canaries: &[Canary], parts: &[Part]) -> Vec<String> {
    let wanted = [
        "model: header",
        "model: path",
        "service: header",
        "collector: header",
        "tracker: header",
        "file mcp",
    ];
    let uses = canaries.iter().flat_map(|canary| canary.belongs.iter().map(move |place| (canary, place)));
    let uses = uses.filter(|(_, place)| wanted.iter().any(|wanted| place.starts_with(wanted)));
    let is_seen = |canary: &Canary, place: &str| {
        let only = Canary { belongs: Vec::new(), ..canary.clone() };
        let there: Vec<Part> = parts.iter().filter(|(name, _)| name.starts_with(place)).cloned().collect();
        !search::sightings(&[only], &there).is_empty()
    };
    uses.filter(|(canary, place)| !is_seen(canary, place))
        .map(|(canary, place)| format!("{} never reached `{place}`, where it belongs", canary.name))
        .collect()
}

fn keep(parts: &mut Vec<Part>, name: &str, ended: &Ended) {
    parts.push((format!("stdout of {name}"), ended.stdout.clone()));
    parts.push((format!("stderr of {name}"), ended.stderr.clone()));
}

/// Every file below a directory: its path, its mode and its bytes.
fn files(root: &Path, below: &Path) -> std::io::Result<Vec<(String, u32, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let (path, metadata) = (below.join(entry.file_name()), entry.metadata()?);
        if metadata.is_dir() {
            found.extend(files(root, &path)?);
        } else if metadata.is_file() {
            found.push((path.display().to_string(), metadata.mode(), std::fs::read(root.join(&path))?));
        }
    }
    Ok(found)
}

/// A home with all canaries in their places.
fn home(
    program: &Path,
    canaries: &[Canary],
    server: &Server,
    recorder: &Recorder,
    mistake: Option<Mistake>,
) -> std::io::Result<Home> {
    let of = |name: &str| canary::value(canaries, name).to_owned();
    let model = server
        .base_url(Wire::AnthropicMessages)
        .replace("http://", &format!("http://me:{}@", of("password in the address of the model")));
    let coded = server.base_url(Wire::AzureResponses);
    let coded = coded.trim_end_matches("/openai/v1");
    let mut home = Home::new(program, "")?;
    for (name, value) in canary::variables(canaries) {
        home = home.with(name, value);
    }
    if mistake == Some(Mistake::NamesService) {
        home = home.with("OTEL_SERVICE_NAME", &of("NPM_TOKEN"));
    }
    home = home.with("RUST_LOG", "trace").with("RUST_BACKTRACE", "1");
    let (script, text) = model::server_script(&home.path(""));
    write(&script, &text, 0o700)?;
    let address = recorder.address;
    let settings = format!(
        "model = \"test/scripted\"\nmode = \"bypass\"\n[retry]\nattempts = 1\n[auth]\nstore = \"file\"\n\
         [telemetry]\nendpoint = \"http://{address}/collector\"\nheaders = [\"x-team: {}\"]\ncontent = true\n\
         [trace]\nfile = \"{}\"\n\
         [providers.test]\napi = \"anthropic-messages\"\nbase_url = \"{model}\"\nkey_env = \"TEST_KEY\"\n\
         [providers.coded]\napi = \"azure-responses\"\nbase_url = \"{coded}?code={}\"\nkey_env = \"TEST_KEY\"\n\
         [providers.gone]\napi = \"openai-chat\"\nbase_url = \"http://me:{}@127.0.0.1:9/v1?code={}\"\n\
         [mcp_servers.local]\ncommand = \"{}\"\nenv = {{ TOKEN = \"{}\" }}\nsandbox = {{ enabled = false }}\n\
         [mcp_servers.issues]\ntype = \"http\"\nurl = \"http://{address}/service/mcp\"\n\
         headers = {{ Authorization = \"Bearer ${{ISSUES_TOKEN}}\", x-service = \"{}\" }}\n\
         [mcp_servers.tracker]\ntype = \"http\"\nurl = \"http://{address}/tracker/mcp\"\n",
        of("header of the collector"),
        home.path("state/lariat/trace.jsonl").display(),
        of("code in the address of another model"),
        of("password of a model that cannot be reached"),
        of("code of a model that cannot be reached"),
        script.display(),
        of("variable of an MCP server"),
        of("header of an MCP service"),
    );
    write(&home.path("config/lariat/config.toml"), &settings, 0o600)?;
    // As `McpServerConfig::login_name` names it.
    let hash = blake3::hash(format!("http://{address}/tracker/mcp").as_bytes()).to_hex();
    let login_name = format!("mcp.tracker.{}", hash.chars().take(16).collect::<String>());
    let login = serde_json::json!({
        "server": format!("http://{address}/tracker/mcp"),
        "resource": format!("http://{address}/tracker/mcp"),
        "token_endpoint": format!("http://{address}/tracker/token"),
        "client": { "client_id": "lariat" },
        "access_token": of("stored access token"),
        "refresh_token": of("stored refresh token"),
    });
    let keys = serde_json::json!({
        "openai": of("stored key openai"),
        "anthropic": of("stored key anthropic"),
        "google": of("stored key google"),
        (login_name): login.to_string(),
    });
    std::fs::create_dir_all(home.path("state/lariat"))?;
    write(&home.path("state/lariat/keys.json"), &keys.to_string(), 0o600)?;
    let lines = |name: &str, before: &str| {
        let numbered = canary::values(canaries, name).enumerate();
        numbered.map(|(number, value)| format!("{before}{number}={value}\n")).collect::<String>()
    };
    write(&home.path("work/.env"), &lines("file .env", "KEY_"), 0o600)?;
    let values: Vec<&str> = canary::values(canaries, "output of a command").collect();
    let loud = format!("echo '{0}'\necho '{0}' >&2\n", values.join("\n"));
    write(&home.path("work/loud.sh"), &loud, 0o700)?;
    if mistake == Some(Mistake::PassesVariable) {
        // A variable that every command receives.
        home = home.with("LANG", &of("GITHUB_TOKEN"));
    }
    Ok(home)
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    std::fs::write(path, text)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}
