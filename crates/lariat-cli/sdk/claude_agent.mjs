// The TypeScript `claude-agent-sdk` with our program as its executable: queries, conversations, questions, hooks, changed
// arguments, directories, tools, settings and session ids.
//
// Usage: node claude_agent.mjs HOST:PORT PROGRAM. Exit status 1 when a check failed.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { query } from "@anthropic-ai/claude-agent-sdk";

const [server, program] = process.argv.slice(2);
const home = fs.mkdtempSync(path.join(os.tmpdir(), "lariat-agent-sdk-ts-"));
const work = path.join(home, "work");
for (const directory of ["work", "lariat", "more"]) fs.mkdirSync(path.join(home, directory));
fs.writeFileSync(path.join(home, "lariat/config.toml"), `
model = "test/scripted"
[sandbox]
enabled = false
[providers.test]
api = "anthropic-messages"
base_url = "http://${server}/anthropic"
key_env = "TEST_KEY"
`);
const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: path.join(home, "state"), TEST_KEY: "secret" };

let passed = 0, failed = 0;
function same(what, seen, expected) {
  const [left, right] = [JSON.stringify(seen), JSON.stringify(expected)];
  if (left === right) passed += 1; else failed += 1;
  console.log(left === right ? `ok    claude-agent-sdk (TypeScript): ${what}` : `FAIL  claude-agent-sdk (TypeScript): ${what}: expected ${right}, got ${left}`);
}

const say = (words) => `!say ${JSON.stringify(words)}`;
const touch = (name) => `!call bash ${JSON.stringify({ command: `touch ${name}` })}`;
const exists = (name) => fs.existsSync(path.join(work, name));

async function ask(prompt, more = {}) {
  const messages = [];
  let error = null;
  const options = { pathToClaudeCodeExecutable: program, cwd: work, env, settingSources: ["user", "project", "local"], ...more };
  try {
    for await (const message of query({ prompt, options })) messages.push(message);
  } catch (raised) {
    error = raised;
  }
  const result = messages.find((message) => message.type === "result");
  const init = messages.find((message) => message.type === "system" && message.subtype === "init");
  const blocks = messages.filter((message) => message.type === "assistant").flatMap((message) => message.message.content);
  if (!result) console.log("no result:", String(error));
  return { messages, result, init, error, blocks };
}

// A prompt as a stream, which keeps the input open for callbacks.
async function* stream(...prompts) {
  for (const content of prompts) yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
}

async function queries() {
  const { result, init, blocks } = await ask(say("Hello there."), { systemPrompt: "Be brief." });
  same("names its tools", init.tools.includes("Bash"), true);
  same("text", blocks.map((block) => block.text), ["Hello there."]);
  same("result", [result.subtype, result.is_error, result.result], ["success", false, "Hello there."]);
  const ran = await ask(touch("made"), { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true });
  const uses = ran.blocks.filter((block) => block.type === "tool_use");
  same("calls", uses.map((use) => [use.name, use.input]), [["Bash", { command: "touch made" }]]);
  same("the call did it", exists("made"), true);
}

async function conversations() {
  const { messages } = await ask(stream(say("one"), say("two")));
  same("two prompts, two results", messages.filter((message) => message.type === "result").map((message) => message.result), ["one", "two"]);
}

async function questions() {
  const asked = [];
  const canUseTool = async (tool, input) => {
    asked.push([tool, input]);
    if (input.command === "touch wanted") return { behavior: "allow", updatedInput: input };
    if (input.command === "touch other") return { behavior: "allow", updatedInput: { command: "touch changed" } };
    return { behavior: "deny", message: "not that one" };
  };
  for (const [name, made, denials] of [["wanted", "wanted", 0], ["unwanted", null, 1], ["other", "changed", 0]]) {
    const { result } = await ask(stream(touch(name)), { canUseTool });
    same(`asked about ${name}`, asked.at(-1), ["Bash", { command: `touch ${name}` }]);
    same(`${name}: what runs`, [exists(name), made === null || exists(made)], [made === name, true]);
    same(`${name}: denials`, result?.permission_denials.length, denials);
  }
}

async function hooks() {
  const seen = [];
  const before = async (input, toolUseId) => {
    seen.push([input.hook_event_name, input.tool_name, input.tool_input, typeof toolUseId]);
    const hookSpecificOutput = { hookEventName: "PreToolUse" };
    if (input.tool_input.command === "touch blocked") {
      Object.assign(hookSpecificOutput, { permissionDecision: "deny", permissionDecisionReason: "hooked: not that one" });
    }
    if (input.tool_input.command === "touch rewritten") Object.assign(hookSpecificOutput, { updatedInput: { command: "touch hooked" } });
    return { hookSpecificOutput };
  };
  const more = { hooks: { PreToolUse: [{ matcher: "Bash", hooks: [before] }] }, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
  await ask(stream(touch("plain")), more);
  same("the call reaches a callback", seen, [["PreToolUse", "Bash", { command: "touch plain" }, "string"]]);
  same("the call runs", exists("plain"), true);
  const { result } = await ask(stream(touch("blocked")), more);
  same("a callback denies", [exists("blocked"), result.result.includes("hooked: not that one")], [false, true]);
  await ask(stream(touch("rewritten")), more);
  same("a callback changes arguments", [exists("rewritten"), exists("hooked")], [false, true]);
}

async function places() {
  const file = path.join(home, "more/a");
  const write = `!call write_file ${JSON.stringify({ path: file, content: "x" })}`;
  await ask(write, { permissionMode: "acceptEdits" });
  same("another directory is outside", fs.existsSync(file), false);
  await ask(write, { permissionMode: "acceptEdits", additionalDirectories: [path.join(home, "more")] });
  same("additionalDirectories", fs.existsSync(file), true);
  const sessionId = "0192aaaa-bbbb-4ccc-8ddd-eeeeffff0000";
  same("sessionId", (await ask(say("named"), { sessionId })).result?.session_id, sessionId);
  same("a named session resumes", (await ask(say("again"), { resume: sessionId })).result?.session_id, sessionId);
  const { init } = await ask(say("few"), { tools: ["Read", "Grep"] });
  same("tools", [init.tools.includes("Bash"), init.tools.includes("Read")], [false, true]);
  const settings = JSON.stringify({ permissions: { deny: ["Bash(touch settled)"] }, model: "test/other" });
  const settled = await ask(touch("settled"), { settings, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true });
  same("settings", [settled.init.model, exists("settled"), settled.result.permission_denials.length], ["other", false, 1]);
}

for (const part of [queries, conversations, questions, hooks, places]) {
  try {
    await part();
  } catch (error) {
    console.log(error);
    same(part.name, "stopped by the exception above", "done");
  }
}
fs.rmSync(home, { recursive: true, force: true });
console.log(`claude-agent-sdk (TypeScript): ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
