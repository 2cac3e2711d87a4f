//! The checks of the fuzz targets for texts that a repository, another program or a model wrote.
//!
//! No input may cause a panic or a hang, and each parser keeps a promise of its own, such as that an invalid `deny` rule
//! is reported. The decoders of model protocols are in `wire::fuzz`. The one target for all parsers is in `fuzz/`, outside
//! the workspace, and only calls this module, so that tests cover it.

use std::sync::Arc;

use lariat_acp::client::{AgentLine, AgentRequest, Client, SessionUpdate, ToolCalls, judged_calls};
use lariat_connect::mcp::McpServerConfig;
use lariat_connect::skills::FrontMatter;
use lariat_connect::{OpenApiAdapter, OpenApiConfig, OperationFilter};
use lariat_core::event::EventRecord;
use lariat_core::patch;
use lariat_guard::hooks::{HandlerAnswer, HandlerResult, HookEvent, OnFailure};
use lariat_guard::{Effect, Layer, Level, Mode, Origin, Rule, Settings, Trust, shell};
use lariat_store::archive_file;
use lariat_store::interchange::{ImportedSession, InterchangeError, claude, codeloops, codex};
use lariat_store::record::{Chain, SealedRecord};
use serde_json::{Value, json};

use crate::server::crc32::crc32;

/// The names of the parsers.
pub const PARSERS: [(&str, Parser); 14] = [
    ("rules", Parser::Rules),
    ("settings", Parser::Settings),
    ("shell", Parser::Shell),
    ("patch", Parser::Patch),
    ("event", Parser::Event),
    ("claude_session", Parser::Claude),
    ("codex_session", Parser::Codex),
    ("codeloops_session", Parser::Codeloops),
    ("front_matter", Parser::FrontMatter),
    ("mcp_config", Parser::McpConfig),
    ("openapi", Parser::OpenApi),
    ("hook_answer", Parser::HookAnswer),
    ("archive", Parser::Archive),
    ("acp_agent", Parser::AcpAgent),
];

/// What reads the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// Permission rules, one on each line.
    Rules,
    /// The permission settings of a project: `.claude/settings.json` and `lariat.toml`.
    Settings,
    /// The analysis of shell commands.
    Shell,
    /// Patches that a model writes.
    Patch,
    /// A stored event.
    Event,
    /// A session of Claude Code.
    Claude,
    /// A session of Codex.
    Codex,
    /// A session of codeloops.
    Codeloops,
    /// The front matter of skills, commands and agents.
    FrontMatter,
    /// A server of `.mcp.json`.
    McpConfig,
    /// An OpenAPI document.
    OpenApi,
    /// The answer of a hook.
    HookAnswer,
    /// A session file. Each line becomes the content of a frame, because random bytes have no valid checksum.
    Archive,
    /// What an agent sends over ACP, line by line.
    AcpAgent,
}

impl Parser {
    /// Returns the parser with this name.
    pub fn named(name: &str) -> Option<Self> {
        PARSERS.iter().find(|(known, _)| *known == name).map(|(_, parser)| *parser)
    }

    /// Runs the parser on an input.
    ///
    /// # Panics
    /// Panics if the parser does or breaks its promise.
    pub fn run(self, input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        match self {
            Self::Rules => text.lines().for_each(check_rule),
            Self::Settings => check_settings(&text),
            Self::Shell => check_shell(&text),
            Self::Patch => check_patch(&text),
            Self::Event => check_event(input),
            Self::Claude => check_import(claude::import(input)),
            Self::Codex => check_import(codex::import(input)),
            Self::Codeloops => check_codeloops(input),
            Self::FrontMatter => check_front_matter(&text),
            Self::McpConfig => check_mcp_config(&text),
            Self::OpenApi => check_openapi(&text),
            Self::HookAnswer => check_hook_answer(&text),
            Self::Archive => check_archive(input),
            Self::AcpAgent => check_acp_agent(input),
        }
    }

    /// Valid inputs to start from.
    pub const fn seeds(self) -> &'static [&'static str] {
        match self {
            Self::Rules => &[
                "Bash(npm run test:*)\nRead(./.env)\nEdit(/src/**)\nWebFetch(domain:*.example.com)\nmcp__git__status",
                "Bash\nRead(~/.ssh/**)\nWrite(//etc/**)\nAgent(explore)\nmcp__*\nBash(git commit -m \"*\")",
            ],
            Self::Settings => &[
                "{\"permissions\":{\"allow\":[\"Bash(ls:*)\"],\"deny\":[\"Read(./.env)\"],\"ask\":[\"Edit\"],\
                 \"defaultMode\":\"acceptEdits\",\"additionalDirectories\":[\"../x\"]}}",
                "[permissions]\nallow = [\"Bash(ls:*)\"]\ndeny = [\"Read(./.env)\"]\ndefault_mode = \"plan\"\n",
            ],
            Self::Shell => &[
                "timeout 5 rm -rf \"a b\" && echo done > log | tee x; for i in 1 2; do cat $i; done",
                "x=$(curl -s http://h | sh) eval \"$x\" <<'E'\nbody\nE\ncase $1 in a) ls;; *) find . -exec rm {} +;; esac",
            ],
            Self::Patch => &[
                "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n keep\n-one\n+two\n\\ No newline at end of file\n",
                "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn main\n-old\n+new\n*** Add File: c\n+x\n\
                 *** Delete File: d\n*** End Patch\n",
            ],
            Self::Event => &["{\"v\":1,\"seq\":1,\"id\":\"00000000-0000-0000-0000-000000000001\",\
                 \"timestamp\":\"2025-11-15T00:00:00.123Z\",\"loop_id\":\"s.c.1\",\"type\":\"TurnStart\",\"turn_index\":1,\"triggered_by\":\"User\"}"],
            Self::Claude => &[
                "{\"type\":\"summary\",\"summary\":\"t\",\"leafUuid\":\"b\"}\n{\"type\":\"user\",\"uuid\":\"a\",\
                 \"parentUuid\":null,\"sessionId\":\"s\",\"timestamp\":\"2025-11-15T00:00:00.123Z\",\"cwd\":\"/w\",\
                 \"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n{\"type\":\"assistant\",\"uuid\":\"b\",\
                 \"parentUuid\":\"a\",\"sessionId\":\"s\",\"timestamp\":\"2025-11-15T00:00:01Z\",\"message\":{\"role\":\
                 \"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{\"command\":\
                 \"ls\"}}],\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n",
            ],
            Self::Codex => &[
                "{\"timestamp\":\"2025-11-15T00:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"cwd\":\"/w\"}}\n\
                 {\"timestamp\":\"2025-11-15T00:00:01Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\
                 \"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}}\n\
                 {\"timestamp\":\"2025-11-15T00:00:02Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\
                 \"name\":\"shell\",\"arguments\":\"{}\",\"call_id\":\"c\"}}\n",
            ],
            Self::Codeloops => &[
                "{\"type\":\"session_start\",\"timestamp\":\"2025-01-27T15:30:45Z\",\"prompt\":\"p\",\"working_dir\":\"/w\",\
                 \"actor_agent\":\"Claude Code\",\"critic_agent\":\"Claude Code\",\"max_iterations\":5}\n\
                 {\"type\":\"iteration\",\"iteration_number\":1,\"timestamp\":\"2025-01-27T15:31:45Z\",\"actor_output\":\"o\",\
                 \"actor_stderr\":\"\",\"actor_exit_code\":0,\"actor_duration_secs\":1.5,\"git_diff\":\"\",\
                 \"git_files_changed\":0,\"critic_decision\":\"DONE\",\"feedback\":null}\n",
            ],
            Self::FrontMatter => &[
                "---\nname: a\ndescription: >\n  two\n  lines\nallowed-tools: [Bash(ls:*), Read]\nmodel: x/y\n---\nbody\n",
                "---\nname: 'a'\ntools: Read, Grep\npaths:\n  - src/**\n---\n",
            ],
            Self::McpConfig => &[
                "{\"command\":\"npx\",\"args\":[\"-y\",\"${PKG:-x}\"],\"env\":{\"A\":\"${A}\"},\"cwd\":\"/w\"}",
                "{\"type\":\"http\",\"url\":\"https://example.com/mcp\",\"headers\":{\"Authorization\":\"Bearer ${T}\"}}",
            ],
            Self::OpenApi => &[
                "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"servers\":[{\"url\":\
                 \"https://example.com/{v}\",\"variables\":{\"v\":{\"default\":\"1\"}}}],\"paths\":{\"/a/{id}\":{\"get\":\
                 {\"operationId\":\"g\",\"parameters\":[{\"name\":\"id\",\"in\":\"path\",\"required\":true,\"schema\":\
                 {\"$ref\":\"#/components/schemas/I\"}}]}}},\"components\":{\"schemas\":{\"I\":{\"type\":\"string\"}}}}",
                "openapi: 3.1.0\ninfo: {title: t, version: '1'}\nservers: [{url: 'https://example.com'}]\npaths:\n  /b:\n    \
                 post:\n      operationId: p\n      requestBody:\n        content:\n          application/json:\n            \
                 schema: {type: object}\n",
            ],
            Self::HookAnswer => &[
                "{\"continue\":true,\"decision\":\"block\",\"reason\":\"r\",\"systemMessage\":\"m\"}",
                "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\
                 \"permissionDecisionReason\":\"r\",\"updatedInput\":{\"command\":\"ls\"}}}",
            ],
            Self::Archive => &[
                "{\"session_id\":\"s\",\"events\":2}\nR{\"v\":1,\"seq\":0,\"id\":\"00000000-0000-0000-0000-000000000001\",\
                 \"timestamp\":\"2025-11-15T00:00:00.123Z\",\"loop_id\":\"s.c.1\",\"type\":\"TurnStart\",\"turn_index\":1,\
                 \"triggered_by\":\"User\"}\nR{\"v\":1,\"seq\":1,\"$blob\":\"blake3:00\"}\nBbytes of a blob\nE",
            ],
            Self::AcpAgent => &[
                "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\
                 \"tool_call\",\"toolCallId\":\"1\",\"title\":\"shell\",\"kind\":\"execute\",\"rawInput\":{\"command\":[\"/bin/bash\",\
                 \"-lc\",\"ls\"]},\"locations\":[{\"path\":\"/w/a\"}],\"content\":[{\"type\":\"diff\",\"path\":\"a\",\"newText\":\"x\"}]}}}\n\
                 {\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\
                 \"tool_call_update\",\"toolCallId\":\"1\",\"status\":\"completed\"}}}\n",
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"s\",\"toolCall\":{\
                 \"toolCallId\":\"1\",\"kind\":\"edit\",\"status\":\"pending\"},\"options\":[{\"optionId\":\"o\",\"kind\":\
                 \"allow_always\"},{\"optionId\":\"n\",\"kind\":\"reject_once\"}]}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\
                 \"stopReason\":\"end_turn\"}}\n{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"fs/read_text_file\",\"params\":{\
                 \"sessionId\":\"s\",\"path\":\"/w/a\",\"line\":1,\"limit\":2}}\n",
            ],
        }
    }
}

/// A rule is used or reported, and never silently dropped.
fn check_rule(text: &str) {
    let origin = Arc::new(Origin::file(Level::Project, "settings.json"));
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        let (rule, warning) = Rule::parse(text, effect, &origin);
        assert!(rule.is_some() || warning.is_some(), "dropped without a warning: {text:?}");
    }
}

/// Settings of a project that the user does not trust allow nothing.
fn check_settings(text: &str) {
    let origin = || Origin::file(Level::Project, "settings.json");
    for layer in [Layer::claude(text, origin()), Layer::lariat(text, origin())].into_iter().flatten() {
        let settings = Settings::merge([layer], Trust::Untrusted);
        let allowed = settings.rules.iter().find(|rule| rule.effect == Effect::Allow);
        assert_eq!(allowed, None, "an untrusted project allows something");
        assert!(settings.additional_directories.is_empty(), "an untrusted project adds a directory");
        assert!(
            matches!(settings.mode, Mode::Default | Mode::Plan),
            "an untrusted project selects {:?}",
            settings.mode
        );
    }
}

/// The place of each command is in the text, and a text with a program is never seen as empty.
fn check_shell(text: &str) {
    let script = shell::analyse(text);
    for command in &script.commands {
        assert!(text.get(command.place.clone()).is_some(), "{:?} of {text:?}", command.place);
    }
    let says_nothing = script.commands.is_empty() && script.files.is_empty() && script.doubts.is_empty();
    let is_comment = |line: &str| line.trim_start().is_empty() || line.trim_start().starts_with('#');
    assert!(
        !says_nothing || text.lines().all(is_comment) || text.trim().is_empty(),
        "nothing found in {text:?}"
    );
}

/// A patch names each file once.
fn check_patch(text: &str) {
    let Ok(changes) = patch::parse(text) else { return };
    let mut paths: Vec<&str> =
        changes.iter().map(|change| change.paths().next().unwrap_or_default()).collect();
    assert!(paths.iter().all(|path| !path.is_empty()), "a change without a path: {changes:?}");
    paths.sort_unstable();
    assert!(paths.windows(2).all(|pair| pair.first() != pair.last()), "a file twice: {changes:?}");
}

/// An event that was read is written and read again without a difference.
fn check_event(input: &[u8]) {
    let Ok(event) = serde_json::from_slice::<EventRecord>(input) else { return };
    let again =
        serde_json::to_vec(&event).and_then(|written| serde_json::from_slice::<EventRecord>(&written));
    assert_eq!(again.ok(), Some(event));
}

/// The events of an imported session have consecutive positions.
fn check_import(imported: Result<ImportedSession, InterchangeError>) {
    let Ok(imported) = imported else { return };
    let events = imported.records(7);
    assert!(events.iter().zip(7..).all(|(event, seq)| event.seq == seq), "positions with gaps");
}

/// What is exported can be imported, and exported again with the same bytes.
fn check_codeloops(input: &[u8]) {
    let Ok(imported) = codeloops::import(input) else { return };
    let Ok(written) = codeloops::export(&imported.records(0)) else { return };
    let again = codeloops::import(&written).and_then(|again| codeloops::export(&again.records(0)));
    assert_eq!(again.ok(), Some(written));
}

/// The body is the end of the text.
fn check_front_matter(text: &str) {
    let (front, body) = FrontMatter::split(text);
    assert!(text.ends_with(body), "the body is not part of the text");
    for key in ["name", "description", "model", "tools", "allowed-tools", "paths", "context"] {
        assert!(front.get(key).is_none() || front.has(key), "{key} has a value and does not exist");
        let _ = (front.list(key), front.rules(key));
    }
    let _ = front.model();
}

/// A configuration that was read names what it starts.
fn check_mcp_config(text: &str) {
    let Ok(entry) = serde_json::from_str::<Value>(text) else { return };
    let variable = |name: &str| name.len().is_multiple_of(2).then(|| name.to_lowercase());
    if let Ok(config) = McpServerConfig::parse("server", &entry, "project", &variable) {
        assert!(!config.transport.target().is_empty() && !config.identity().is_empty(), "{config:?}");
    }
}

/// Every tool of a document has a name that providers accept.
fn check_openapi(text: &str) {
    use lariat_core::tool::AgentTool as _;
    let Ok(tools) = OpenApiAdapter::from_str(text, &OpenApiConfig::default(), &OperationFilter::All) else {
        return;
    };
    for tool in tools {
        let name = tool.name().to_owned();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        assert!(!name.is_empty() && name.len() <= 64 && name.bytes().all(is_allowed), "{name:?}");
    }
}

/// A hook that ends with code 2 blocks, whatever it prints; code 0 without JSON decides nothing.
fn check_hook_answer(text: &str) {
    let read = |code| {
        let ended = HandlerResult::Exited { code, output: text.to_owned(), errors: String::new() };
        HandlerAnswer::read(HookEvent::PreToolUse, &ended, OnFailure::Block)
    };
    let blocks = |answer: &HandlerAnswer| {
        answer.decision == Some(lariat_guard::hooks::HookDecision::Deny) || answer.stops
    };
    assert!(blocks(&read(2)), "code 2 does not block: {text:?}");
    if !text.trim_start().starts_with('{') {
        assert_eq!(read(0).decision, None, "{text:?}");
    }
}

/// A file without a valid end is refused, whatever its frames contain.
fn check_archive(input: &[u8]) {
    let mut lines = input.split(|byte| *byte == b'\n');
    let header = lines.next().unwrap_or_default();
    let mut file = b"LARIAT SESSION 1\n".to_vec();
    frame(&mut file, b'H', header);
    let session = serde_json::from_slice::<Value>(header).unwrap_or_default();
    let session = session.get("session_id").and_then(Value::as_str).unwrap_or_default();
    let (mut seq, mut chain) = (0, Chain::start(&session.into()));
    for line in lines {
        match line.split_first() {
            // The checks behind position, chain and checksum are only reached with valid ones.
            Some((b'R', body)) => {
                let record = SealedRecord::new(seq, chain, body.to_vec());
                let head = [&seq.to_le_bytes()[..], record.chain.as_bytes(), &record.check.to_le_bytes()];
                frame(&mut file, b'R', &[&head.concat(), body].concat());
                (seq, chain) = (seq + 1, record.chain);
            }
            Some((kind, content)) => frame(&mut file, *kind, content),
            None => frame(&mut file, 0, &[]),
        }
    }
    assert!(archive_file::check(file.as_slice()).is_err(), "accepted without an end");
    assert!(archive_file::check(input).is_err(), "accepted without checksums");
}

/// Appends a frame with a valid checksum.
fn frame(file: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let start = file.len();
    file.push(kind);
    file.extend((content.len() as u64).to_le_bytes());
    file.extend(content);
    let checksum = crc32(file.get(start..).unwrap_or_default());
    file.extend(checksum.to_le_bytes());
}

/// Every request gets a response with its id, a tool call is known by the id that the agent gave it, and no approval is one that the
/// agent would remember.
fn check_acp_agent(input: &[u8]) {
    let mut client = Client::default();
    assert!(client.open(&json!({ "sessionId": "s" })).is_ok(), "a session is open");
    let mut calls = ToolCalls::default();
    for line in input.split(|byte| *byte == b'\n') {
        let received = client.receive(line);
        if let AgentLine::Request { id, request } = &received {
            let response: Value =
                serde_json::from_str(&Client::respond(id, Ok(Value::Null))).unwrap_or_default();
            assert_eq!(response.get("id"), Some(id), "{received:?}");
            if let AgentRequest::Permission { call, choices } = request {
                let answer = Client::decision(choices, true);
                let chosen = answer.pointer("/outcome/optionId").and_then(Value::as_str);
                let is_right =
                    |id| choices.iter().any(|choice| choice.id == id && choice.kind == "allow_once");
                assert!(chosen.is_none_or(is_right), "{answer}: {choices:?}");
                if let Ok(known) = calls.asked(call.clone()) {
                    assert_eq!(known.id, call.id);
                    let _ = judged_calls(&known);
                }
            }
        }
        if let AgentLine::Update(SessionUpdate::ToolCall(change)) = received {
            let _ = calls.apply(change);
        }
    }
    let count = calls.count();
    assert!(calls.take_open().len() <= count, "more open calls than calls");
}

#[cfg(test)]
mod tests {
    use super::*;
    use lariat_test::SeededRandom;

    #[test]
    fn every_seed_is_read_and_passes() {
        for (name, parser) in PARSERS {
            assert_eq!(Parser::named(name), Some(parser));
            parser.seeds().iter().for_each(|seed| parser.run(seed.as_bytes()));
        }
        // Seeds that are not read would start the fuzzer from nothing.
        assert!(Parser::Codeloops.seeds().iter().all(|seed| codeloops::import(seed.as_bytes()).is_ok()));
        assert!(Parser::Claude.seeds().iter().all(|seed| claude::import(seed.as_bytes()).is_ok()));
        assert!(Parser::Codex.seeds().iter().all(|seed| codex::import(seed.as_bytes()).is_ok()));
        assert!(Parser::Patch.seeds().iter().all(|seed| patch::parse(seed).is_ok()));
        assert!(Parser::Event.seeds().iter().all(|seed| serde_json::from_str::<EventRecord>(seed).is_ok()));
    }

    #[test]
    fn randomly_damaged_seeds_pass() {
        for (_, parser) in PARSERS {
            for seed in 0..400_u64 {
                let mut dice = SeededRandom::new(seed);
                let mut input = parser.seeds()[dice.index(parser.seeds().len())].as_bytes().to_vec();
                for _ in 0..1 + dice.index(6) {
                    let at = dice.index(input.len());
                    match dice.index(4) {
                        0 => input[at] = dice.bits() as u8,
                        1 => drop(input.remove(at)),
                        2 => input.insert(at, b"\"'(){}[]\\$`;|&<>\n"[dice.index(17)]),
                        _ => {
                            let part: Vec<u8> =
                                input.iter().skip(at).take(1 + dice.index(20)).copied().collect();
                            input.extend(part);
                        }
                    }
                }
                parser.run(&input);
            }
        }
    }
}
