//! Generates session files as Claude Code writes them and as crashes leave them.

use lariat_test::SeededRandom;
use serde_json::{Map, Value, json};

/// Everything that a generated file can contain. A test checks that all of it occurs.
pub(in crate::interchange::claude) const LINE_KINDS: &[&str] = &[
    "prompt",
    "blocks",
    "reply",
    "split reply",
    "chained results",
    "forked results",
    "results in one line",
    "lost result",
    "system",
    "attachment",
    "progress",
    "meta",
    "sidechain",
    "side branch",
    "team",
    "boundary",
    "fork",
    "metadata",
    "broken line",
    "unknown type",
    "missing parent",
    "double uuid",
    "circle",
    "strange uuid",
    "no message",
    "torn end",
];

/// Returns a file, and what it contains.
pub(in crate::interchange::claude) fn generate(seed: u64) -> (Vec<u8>, Vec<&'static str>) {
    let mut file = GeneratedFile {
        dice: SeededRandom::new(seed),
        lines: Vec::new(),
        spoken: Vec::new(),
        tip: None,
        kinds: Vec::new(),
        count: 0,
    };
    let steps = 3 + file.dice.below(40);
    file.prompt();
    for _ in 0..steps {
        file.step();
    }
    let mut bytes = file.lines.join("\n").into_bytes();
    if file.dice.below(4) == 0 {
        file.kinds.push("torn end");
        bytes.extend_from_slice(b"\n{\"type\":\"user\",\"uuid\":\"torn\",\"mess");
    } else {
        bytes.push(b'\n');
    }
    (bytes, file.kinds)
}

struct GeneratedFile {
    dice: SeededRandom,
    lines: Vec<String>,
    /// Uuids that a fork can return to.
    spoken: Vec<String>,
    tip: Option<String>,
    kinds: Vec<&'static str>,
    count: u64,
}

impl GeneratedFile {
    fn step(&mut self) {
        match self.dice.below(24) {
            0..=2 => self.prompt(),
            3..=5 => self.reply(),
            6..=11 => self.exchange(),
            12 => self.aside("system"),
            13 => self.aside("attachment"),
            14 => self.progress(),
            15 => self.meta(),
            16 => self.sidechain(),
            17 => self.team(),
            18 => self.boundary(),
            19 => self.fork(),
            20 | 21 => self.metadata(),
            _ => self.damage(),
        }
    }

    fn uuid(&mut self) -> String {
        self.count += 1;
        if self.dice.below(40) == 0 {
            self.kinds.push("strange uuid");
            return format!("Line #{}", self.count);
        }
        uuid::Uuid::from_u64_pair(self.dice.bits(), self.dice.bits()).to_string()
    }

    fn words(&mut self) -> String {
        self.count += 1;
        format!("words {} \u{1F980} \"quoted\" \\ {}", self.count, self.dice.bits())
    }

    /// Writes a chain line after `parent`.
    fn write(&mut self, kind: &str, parent: Option<&str>, more: Value) -> String {
        let uuid = self.uuid();
        let at = 1_760_000_000_000 + self.lines.len() as u64 * 1000;
        let mut line = json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "0190b5e6-7b2a-7c3d-8e4f-123456789abc",
            "timestamp": lariat_core::time::Timestamp::from_millis(at), "cwd": "/srv/me/project", "version": "2.1.0",
            "gitBranch": "main", "isSidechain": false, "userType": "external",
        });
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        self.lines.push(line.to_string());
        uuid
    }

    /// Writes a chain line after the tip and makes it the tip.
    fn write_next(&mut self, kind: &str, more: Value) -> String {
        let parent = self.tip.clone();
        let uuid = self.write(kind, parent.as_deref(), more);
        self.tip = Some(uuid.clone());
        uuid
    }

    fn say(&mut self, kind: &str, more: Value) {
        let uuid = self.write_next(kind, more);
        self.spoken.push(uuid);
    }

    fn prompt(&mut self) {
        let words = self.words();
        let content = if self.dice.below(3) == 0 {
            self.kinds.push("blocks");
            json!([{"type": "text", "text": words},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}},
                {"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}}])
        } else {
            self.kinds.push("prompt");
            json!(words)
        };
        self.say("user", json!({"message": {"role": "user", "content": content}}));
    }

    fn message(&mut self, id: &str, content: Value, stop: Value) -> Value {
        json!({"requestId": "req_1", "message": {"id": id, "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": self.dice.below(1000), "output_tokens": 7, "cache_read_input_tokens": 11,
                "cache_creation_input_tokens": 13}}})
    }

    fn thoughts(&mut self) -> Vec<Value> {
        let words = self.words();
        match self.dice.below(4) {
            0 => vec![json!({"type": "thinking", "thinking": words, "signature": "c2ln"})],
            1 => vec![json!({"type": "redacted_thinking", "data": "b3BhcXVl"})],
            2 => vec![
                json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": words}}),
                json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
            ],
            _ => Vec::new(),
        }
    }

    fn reply(&mut self) {
        self.kinds.push("reply");
        let mut content = self.thoughts();
        content.push(json!({"type": "text", "text": self.words()}));
        let id = format!("msg_{}", self.dice.bits());
        let line = self.message(&id, json!(content), json!("end_turn"));
        self.say("assistant", line);
    }

    /// A reply with tool calls, one block per line, and their results.
    fn exchange(&mut self) {
        let id = format!("msg_{}", self.dice.bits());
        let calls: Vec<String> =
            (0..=self.dice.below(3)).map(|_| format!("toolu_{}", self.dice.bits())).collect();
        let mut blocks = self.thoughts();
        blocks.push(json!({"type": "text", "text": self.words()}));
        if self.dice.below(3) == 0 {
            let uses = calls.iter().map(
                |call| json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}),
            );
            blocks.extend(uses);
            let line = self.message(&id, json!(blocks), json!("tool_use"));
            self.say("assistant", line);
            return self.results(&calls);
        }
        self.kinds.push("split reply");
        for block in blocks {
            let line = self.message(&id, json!([block]), Value::Null);
            self.say("assistant", line);
        }
        let forked = self.dice.below(2) == 0;
        let mut beside = Vec::new();
        for call in &calls {
            let block = json!({"type": "tool_use", "id": call, "name": "Read", "input": {"file": call}});
            let line = self.message(&id, json!([block]), json!("tool_use"));
            self.say("assistant", line);
            beside.push((self.tip.clone(), call));
            if self.dice.below(5) == 0 {
                self.aside("attachment");
            }
        }
        if !forked {
            return self.results(&calls);
        }
        self.kinds.push("forked results");
        for (parent, call) in beside {
            self.tip = parent;
            let line = self.result_line(std::slice::from_ref(call));
            self.say("user", line);
        }
    }

    fn result_line(&mut self, calls: &[String]) -> Value {
        let results: Vec<Value> = calls
            .iter()
            .map(|call| {
                let content = match self.dice.below(4) {
                    0 => json!([{"type": "text", "text": self.words()}, {"type": "image", "source":
                        {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}]),
                    1 => json!(""),
                    _ => json!(self.words()),
                };
                let mut result = json!({"type": "tool_result", "tool_use_id": call, "content": content});
                if self.dice.below(4) == 0 {
                    result["is_error"] = json!(true);
                }
                result
            })
            .collect();
        let source = self.tip.clone();
        json!({"message": {"role": "user", "content": results}, "toolUseResult": {"stdout": "x"},
            "sourceToolAssistantUUID": source})
    }

    fn results(&mut self, calls: &[String]) {
        match self.dice.below(4) {
            0 => {
                self.kinds.push("results in one line");
                let mut line = self.result_line(calls);
                if self.dice.below(2) == 0 {
                    let words = json!({"type": "text", "text": self.words()});
                    line["message"]["content"].as_array_mut().unwrap().push(words);
                }
                self.say("user", line);
            }
            1 => {
                self.kinds.push("lost result");
                let line = self.result_line(&calls[1..]);
                if calls.len() > 1 {
                    self.say("user", line);
                }
                self.prompt();
            }
            _ => {
                self.kinds.push("chained results");
                for call in calls {
                    if self.dice.below(4) == 0 {
                        self.progress();
                    }
                    if self.dice.below(6) == 0 {
                        self.meta();
                    }
                    let line = self.result_line(std::slice::from_ref(call));
                    self.say("user", line);
                }
            }
        }
    }

    fn aside(&mut self, kind: &'static str) {
        self.kinds.push(kind);
        let more = if kind == "system" {
            json!({"subtype": "informational", "content": self.words(), "level": "info"})
        } else {
            json!({"attachment": {"type": "todo_reminder", "content": [self.words()]}})
        };
        self.write_next(kind, more);
    }

    fn progress(&mut self) {
        self.kinds.push("progress");
        let tip = self.tip.clone();
        self.write_next("progress", json!({"data": {"type": "bash_progress"}, "toolUseID": "t"}));
        if self.dice.below(2) == 0 {
            // Reproduces files in which progress lines fork the chain.
            self.tip = tip;
        }
    }

    fn meta(&mut self) {
        self.kinds.push("meta");
        let words = self.words();
        self.write_next("user", json!({"isMeta": true, "message": {"role": "user", "content": words}}));
    }

    fn sidechain(&mut self) {
        let branch = self.dice.below(2) == 0;
        self.kinds.push(if branch { "side branch" } else { "sidechain" });
        let mut parent = self.tip.clone().filter(|_| branch);
        for turn in 0..2 + self.dice.below(3) {
            let words = self.words();
            let more = if turn % 2 == 0 {
                json!({"isSidechain": true, "message": {"role": "user", "content": words}})
            } else {
                json!({"isSidechain": true, "message": {"id": "msg_side", "role": "assistant",
                    "content": [{"type": "text", "text": words}]}})
            };
            let kind = if turn % 2 == 0 { "user" } else { "assistant" };
            parent = Some(self.write(kind, parent.as_deref(), more));
        }
        if branch && self.dice.below(6) == 0 {
            self.tip = parent;
        }
    }

    fn team(&mut self) {
        self.kinds.push("team");
        let words = self.words();
        let more =
            json!({"teamName": "red", "agentName": "a", "message": {"role": "user", "content": words}});
        if self.dice.below(2) == 0 {
            self.write_next("user", more);
        } else {
            let parent = self.tip.clone();
            self.write("user", parent.as_deref(), more);
        }
    }

    fn boundary(&mut self) {
        self.kinds.push("boundary");
        let before = self.tip.take();
        let more = json!({"subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": before,
            "compactMetadata": {"trigger": "auto", "preTokens": 155_000}});
        self.write_next("system", more);
        let words = self.words();
        self.say("user", json!({"isCompactSummary": true, "message": {"role": "user", "content": words}}));
    }

    fn fork(&mut self) {
        self.kinds.push("fork");
        let at = self.dice.below(self.spoken.len() as u64) as usize;
        self.tip = Some(self.spoken[at].clone());
        if self.dice.below(2) == 0 {
            self.prompt();
        }
    }

    fn metadata(&mut self) {
        self.kinds.push("metadata");
        let words = self.words();
        let leaf = self.tip.clone();
        let line = match self.dice.below(9) {
            0 => json!({"type": "summary", "summary": words, "leafUuid": leaf}),
            1 => json!({"type": "custom-title", "customTitle": words, "sessionId": "s"}),
            2 => json!({"type": "ai-title", "aiTitle": words}),
            3 => json!({"type": "last-prompt", "lastPrompt": words}),
            4 => json!({"type": "tag", "tag": words}),
            5 => json!({"type": "tag", "tag": ""}),
            6 => json!({"type": "permission-mode", "permissionMode": "plan"}),
            7 => json!({"type": "file-history-snapshot", "messageId": leaf, "snapshot": {}}),
            _ => json!({"type": "content-replacement", "replacements": []}),
        };
        self.lines.push(line.to_string());
    }

    fn damage(&mut self) {
        match self.dice.below(7) {
            0 => {
                self.kinds.push("broken line");
                let line = ["\0\0\0\0", "{\"type\":\"us{\"type\":\"user\"}", "[1,2]", "", "null"];
                self.lines.push(line[self.dice.below(5) as usize].to_owned());
            }
            1 => {
                self.kinds.push("unknown type");
                let parent = self.tip.clone();
                self.write("hologram", parent.as_deref(), json!({}));
            }
            2 => {
                self.kinds.push("missing parent");
                self.tip = Some("never-written".to_owned());
                self.prompt();
            }
            3 => {
                self.kinds.push("double uuid");
                let at = self.dice.below(self.lines.len() as u64) as usize;
                let line = self.lines[at].clone();
                self.lines.push(line);
            }
            4 => {
                self.kinds.push("circle");
                let first =
                    self.write("user", Some("circle"), json!({"message": {"role": "user", "content": "a"}}));
                let circle = json!({"uuid": "circle", "message": {"role": "user", "content": "b"}});
                self.write("user", Some(&first), circle);
                let more = json!({"message": {"role": "user", "content": "c"}});
                let leaf = self.write("user", Some("circle"), more);
                if self.dice.below(2) == 0 {
                    self.tip = Some(leaf);
                }
            }
            5 => {
                self.kinds.push("no message");
                let kind = ["user", "assistant"][self.dice.below(2) as usize];
                self.write_next(kind, json!({}));
            }
            _ => {
                let words: Map<String, Value> = Map::from_iter([("words".to_owned(), json!(1))]);
                self.kinds.push("broken line");
                self.lines.push(Value::Object(words).to_string());
            }
        }
    }
}
