"""The `claude-agent-sdk` with our program as its `cli_path`: queries, conversations, interrupts, questions, forms,
hooks, changed arguments, directories, tools, settings and session ids.

Usage: claude_agent.py HOST:PORT PROGRAM. Exit status 1 when a check failed.
"""

import atexit
import json
import pathlib
import shutil
import sys
import tempfile

import anyio
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultError,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "proofs/sdk"))
from checks import Checks  # noqa: E402

SERVER, PROGRAM = sys.argv[1], sys.argv[2]
check = Checks("claude-agent-sdk")
home = pathlib.Path(tempfile.mkdtemp(prefix="lariat-agent-sdk-"))
work = home / "work"
work.mkdir()
(home / "lariat").mkdir()
(home / "lariat/config.toml").write_text(f"""
model = "test/scripted"
[sandbox]
enabled = false
[providers.test]
api = "anthropic-messages"
base_url = "http://{SERVER}/anthropic"
key_env = "TEST_KEY"
""")
ENVIRONMENT = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "TEST_KEY": "secret"}
complaints = []
atexit.register(shutil.rmtree, home, ignore_errors=True)
atexit.register(lambda: [print("stderr:", complaint) for complaint in sorted(set(complaints))])


def options(**more):
    return ClaudeAgentOptions(cli_path=PROGRAM, cwd=work, env=ENVIRONMENT, stderr=complaints.append, **more)


def say(words):
    return f"!say {json.dumps(words)}"


def touch(name):
    return f"!call bash {json.dumps({'command': f'touch {name}'})}"


def texts(messages):
    blocks = [block for message in messages if isinstance(message, AssistantMessage) for block in message.content]
    return [block.text for block in blocks if isinstance(block, TextBlock)]


async def ask(prompt, **more):
    messages, error = [], None
    try:
        async for message in query(prompt=prompt, options=options(**more)):
            messages.append(message)
    except ResultError as raised:
        error = raised
    result = next((message for message in messages if isinstance(message, ResultMessage)), None)
    return messages, result, error


async def queries():
    messages, result, _ = await ask(say("Hello there."))
    first = messages[0]
    check.true("begins with what it is", isinstance(first, SystemMessage) and first.subtype == "init")
    check.true("names its tools", "Bash" in first.data["tools"])
    check.same("text", texts(messages), ["Hello there."])
    check.same("result", (result.subtype, result.is_error, result.result), ("success", False, "Hello there."))
    check.same("turns", result.num_turns, 1)
    check.same("usage", result.usage["output_tokens"], 40)
    check.true("use by model", "scripted" in (result.model_usage or {}))
    check.same("terminal reason", result.terminal_reason, "completed")

    messages, result, _ = await ask(touch("made"), permission_mode="bypassPermissions")
    uses = [block for message in messages if isinstance(message, AssistantMessage) for block in message.content
            if isinstance(block, ToolUseBlock)]
    results = [block for message in messages if isinstance(message, UserMessage) for block in message.content
               if isinstance(block, ToolResultBlock)]
    check.same("calls", [(use.name, use.input) for use in uses], [("Bash", {"command": "touch made"})])
    check.same("results", [(one.tool_use_id, one.is_error) for one in results], [(uses[0].id, False)])
    check.true("the call did it", (work / "made").exists())


async def pieces():
    messages, _, _ = await ask(say("In several pieces, please."), include_partial_messages=True)
    deltas = [message.event["delta"].get("text", "") for message in messages
              if isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta"]
    check.same("pieces make the text", "".join(deltas), "In several pieces, please.")


async def caps():
    _, result, error = await ask(touch("capped"), permission_mode="bypassPermissions", max_turns=1)
    check.same("max turns", (result.subtype, result.is_error, result.terminal_reason), ("error_max_turns", True, "max_turns"))
    check.true("max turns raise", isinstance(error, ResultError) and error.exit_code == 5, repr(error))


async def forms():
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}
    form = {"type": "json_schema", "schema": schema}
    _, result, _ = await ask(say({"sum": 4}), output_format=form)
    check.same("structured output", result.structured_output, {"sum": 4})
    _, result, error = await ask(say("four"), output_format=form)
    check.same("structured output that never fits", result.subtype, "error_max_structured_output_retries")
    check.true("structured output raises", error is not None and error.exit_code == 7, repr(error))


async def sessions():
    _, first, _ = await ask(say("one"))
    _, again, _ = await ask(say("two"), resume=first.session_id)
    check.same("resumes", again.session_id, first.session_id)
    _, last, _ = await ask(say("three"), continue_conversation=True)
    check.same("continues", last.session_id, first.session_id)
    _, fork, _ = await ask(say("four"), resume=first.session_id, fork_session=True)
    check.true("forks", fork.session_id != first.session_id)


async def conversations():
    async with ClaudeSDKClient(options=options()) as client:
        ids = []
        for words in ("one", "two", "three"):
            await client.query(say(words))
            messages = [message async for message in client.receive_response()]
            check.same(f"conversation: {words}", texts(messages), [words])
            ids.append(messages[-1].session_id)
        check.same("conversation: one session", len(set(ids)), 1)
        usage = await client.get_context_usage()
        check.true("context usage", usage["totalTokens"] > 0 and usage["maxTokens"] > 0)
        await client.set_permission_mode("bypassPermissions")
        await client.query(touch("later"))
        messages = [message async for message in client.receive_response()]
        check.true("the mode counts", (work / "later").exists())
        check.same("the mode is told", messages[0].data["permissionMode"], "bypassPermissions")
        await client.set_model("test/other")
        await client.query(say("four"))
        messages = [message async for message in client.receive_response()]
        check.same("another model", messages[0].data["model"], "other")
        info = await client.get_server_info()
        check.true("server info", "commands" in info)


async def interrupts():
    async with ClaudeSDKClient(options=options()) as client:
        await client.query("!silence")
        async for message in client.receive_messages():
            if isinstance(message, SystemMessage):
                break
        await client.interrupt()
        messages = [message async for message in client.receive_response()]
        check.same("interrupted", messages[-1].terminal_reason, "aborted_streaming")
        await client.query(say("still here"))
        messages = [message async for message in client.receive_response()]
        check.same("goes on after it", texts(messages), ["still here"])


async def questions():
    asked = []

    async def decide(tool, arguments, context):
        asked.append((tool, arguments, context.tool_use_id))
        if arguments["command"] == "touch wanted":
            return PermissionResultAllow()
        if arguments["command"] == "touch other":
            return PermissionResultAllow(updated_input={"command": "touch changed"})
        return PermissionResultDeny(message="not that one")

    async with ClaudeSDKClient(options=options(can_use_tool=decide)) as client:
        for name in ("wanted", "unwanted", "other"):
            await client.query(touch(name))
            messages = [message async for message in client.receive_response()]
            denied = messages[-1].permission_denials or []
            check.same(f"asked about {name}", asked[-1][:2], ("Bash", {"command": f"touch {name}"}))
            check.same(f"{name} is made", (work / name).exists(), name == "wanted")
            check.same(f"{name} is reported as denied", len(denied), 1 if name == "unwanted" else 0)
        check.true("what was changed runs", (work / "changed").exists())

    async with ClaudeSDKClient(options=options(can_use_tool=decide, disallowed_tools=["Bash(touch changed)"])) as client:
        (work / "changed").unlink()
        await client.query(touch("other"))
        messages = [message async for message in client.receive_response()]
        check.same("a rule judges what was changed", len(messages[-1].permission_denials or []), 1)
        check.true("what a rule denies does not run", not (work / "changed").exists())


async def hooks():
    seen = []

    async def before(given, tool_use_id, context):
        seen.append((given["hook_event_name"], given["tool_name"], given["tool_input"], tool_use_id))
        command = given["tool_input"]["command"]
        output = {"hookEventName": "PreToolUse"}
        if command == "touch blocked":
            output.update(permissionDecision="deny", permissionDecisionReason="hooked: not that one")
        if command == "touch rewritten":
            output.update(permissionDecision="allow", updatedInput={"command": "touch hooked"})
        if command == "touch broken":
            raise RuntimeError("the callback broke")
        return {"hookSpecificOutput": output}

    async def after(given, tool_use_id, context):
        seen.append((given["hook_event_name"], given["tool_name"], "tool_response" in given, tool_use_id))
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "noted by a callback"}}

    async def prompted(given, tool_use_id, context):
        seen.append((given["hook_event_name"], given["prompt"]))
        return {}

    matchers = {
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])],
        "PostToolUse": [HookMatcher(matcher="Bash", hooks=[after])],
        "UserPromptSubmit": [HookMatcher(hooks=[prompted])],
    }
    async with ClaudeSDKClient(options=options(hooks=matchers, permission_mode="bypassPermissions")) as client:
        async def ask_for(name):
            seen.clear()
            await client.query(touch(name))
            return [message async for message in client.receive_response()]

        messages = await ask_for("plain")
        check.same("the prompt reaches a callback", seen[0][:2], ("UserPromptSubmit", touch("plain")))
        check.same("the call reaches a callback", seen[1][:3], ("PreToolUse", "Bash", {"command": "touch plain"}))
        check.same("the result reaches a callback", seen[2][:3], ("PostToolUse", "Bash", True))
        check.true("callbacks know the call", seen[1][3] is not None and seen[1][3] == seen[2][3])
        check.true("the call runs", (work / "plain").exists())
        check.true("context reaches the model", "noted by a callback" in str(messages), texts(messages)[-1])
        messages = await ask_for("blocked")
        check.true("a callback denies", not (work / "blocked").exists())
        check.true("its reason reaches the model", "hooked: not that one" in texts(messages)[-1], texts(messages)[-1])
        await ask_for("rewritten")
        check.same("a callback changes arguments", ((work / "rewritten").exists(), (work / "hooked").exists()), (False, True))
        await ask_for("broken")
        check.true("a callback that fails blocks", not (work / "broken").exists())


async def places():
    more = home / "more"
    more.mkdir()
    write = f"!call write_file {json.dumps({'path': str(more / 'a'), 'content': 'x'})}"
    await ask(write, permission_mode="acceptEdits")
    check.true("another directory is outside", not (more / "a").exists())
    await ask(write, permission_mode="acceptEdits", add_dirs=[more])
    check.true("add_dirs", (more / "a").exists())

    name = "0192aaaa-bbbb-4ccc-8ddd-eeeeffff0000"
    messages, result, _ = await ask(say("named"), session_id=name)
    check.same("session_id", (messages[0].data["session_id"], result.session_id), (name, name))
    _, again, _ = await ask(say("again"), resume=name)
    check.same("a named session resumes", again.session_id, name)

    messages, _, _ = await ask(say("few"), tools=["Read", "Grep"])
    check.true("tools", "Bash" not in messages[0].data["tools"] and "Read" in messages[0].data["tools"])
    messages, _, _ = await ask(say("none"), tools=[])
    check.same("no tools", messages[0].data["tools"], [])

    settings = json.dumps({"permissions": {"deny": ["Bash(touch settled)"]}, "model": "test/other"})
    messages, result, _ = await ask(touch("settled"), permission_mode="bypassPermissions", settings=settings)
    check.same("settings set the model", messages[0].data["model"], "other")
    check.same("settings deny", ((work / "settled").exists(), len(result.permission_denials)), (False, 1))


def part(work):
    def run():
        anyio.run(work)

    run.__name__ = work.__name__
    return run


check.run(*map(part, (queries, pieces, caps, forms, sessions, conversations, interrupts, questions, hooks, places)))
