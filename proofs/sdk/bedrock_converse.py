"""boto3 against the scripted server: Converse and ConverseStream, signed and with a bearer key, models, errors."""

import json
import os

import boto3
from botocore.config import Config
from checks import *

check = Checks("boto3")
ENDPOINT = address() + "/bedrock"
MODEL = "us.anthropic.claude-opus-4-5-20251101-v1:0"
# The key pair whose signatures the server verifies in full.
ACCESS, SECRET = "AKIDSCRIPTED00000001", "scripted/secret+key/of/the/test/server"
CONFIG = Config(retries={"total_max_attempts": 1})


def plain(request, **_):
    request.url = request.url.replace("https://", "http://")


def connect(service="bedrock-runtime", access=ACCESS, secret=SECRET, bearer=None):
    os.environ.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    if bearer:
        os.environ["AWS_BEARER_TOKEN_BEDROCK"] = bearer
        # boto3 sends a bearer key only over TLS: give it an HTTPS address, and redirect the request to the server at the last moment.
        client = boto3.client(service, region_name="us-east-1", config=CONFIG,
                              endpoint_url=ENDPOINT.replace("http://", "https://"))
        client.meta.events.register("before-send.*.*", plain)
        return client
    return boto3.client(service, region_name="us-east-1", endpoint_url=ENDPOINT, config=CONFIG,
                        aws_access_key_id=access, aws_secret_access_key=secret)


IMAGE = {"image": {"format": "png", "source": {"bytes": PIXEL}}}
REQUEST = dict(
    modelId=MODEL,
    system=[{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    inferenceConfig={"maxTokens": 4096},
    additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 2048}},
    toolConfig={"tools": [{"toolSpec": {"name": name, "description": about, "inputSchema": {"json": SCHEMA}}}
                          for name, about in TOOLS]},
)


def whole(client, messages):
    reply = client.converse(messages=messages, **REQUEST)
    return reply["output"]["message"]["content"], reply["stopReason"], reply["usage"]


def streamed(client, messages):
    """Accumulates by hand, as boto3 leaves it to its users."""
    blocks, stop, usage, role = {}, None, None, None
    for event in client.converse_stream(messages=messages, **REQUEST)["stream"]:
        (kind, data), = event.items()
        if kind == "messageStart":
            role = data["role"]
        elif kind == "contentBlockStart":
            blocks[data["contentBlockIndex"]] = {"toolUse": {**data["start"]["toolUse"], "input": ""}}
        elif kind == "contentBlockDelta":
            index, delta = data["contentBlockIndex"], data["delta"]
            if "text" in delta:
                blocks.setdefault(index, {"text": ""})["text"] += delta["text"]
            elif "toolUse" in delta:
                blocks[index]["toolUse"]["input"] += delta["toolUse"]["input"]
            elif "redactedContent" in delta["reasoningContent"]:
                blocks[index] = {"reasoningContent": delta["reasoningContent"]}
            else:
                text = blocks.setdefault(index, {"reasoningContent": {"reasoningText": {"text": ""}}})
                text = text["reasoningContent"]["reasoningText"]
                text["text"] += delta["reasoningContent"].get("text", "")
                if "signature" in delta["reasoningContent"]:
                    text["signature"] = delta["reasoningContent"]["signature"]
        elif kind == "messageStop":
            stop = data["stopReason"]
        elif kind == "metadata":
            usage = data["usage"]
    content = [blocks[index] for index in sorted(blocks)]
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    check.same("stream: role", role, "assistant")
    return content, stop, usage


def loop(name, client, ask):
    messages = [{"role": "user", "content": [{"text": PROMPT}, IMAGE]}]
    content, stop, usage = ask(client, messages)
    check.same(f"{name}: blocks", [next(iter(block)) for block in content],
               ["reasoningContent", "reasoningContent", "text", "toolUse", "toolUse"])
    check.same(f"{name}: thinking", content[0]["reasoningContent"]["reasoningText"]["text"], THINKING)
    check.true(f"{name}: signature", bool(content[0]["reasoningContent"]["reasoningText"]["signature"]))
    check.same(f"{name}: redacted", content[1]["reasoningContent"]["redactedContent"], b"opaque thoughts")
    check.same(f"{name}: text", content[2]["text"], ANSWER)
    calls = [block["toolUse"] for block in content[3:]]
    check.same(f"{name}: calls", [(call["name"], call["input"]) for call in calls],
               [(tool, ARGUMENTS) for tool, _ in TOOLS])
    check.same(f"{name}: stop reason", stop, "tool_use")
    check.same(f"{name}: usage", (usage["inputTokens"], usage["outputTokens"], usage["cacheWriteInputTokens"],
               usage["totalTokens"]), (50, 90, 100, 240))
    messages += [
        {"role": "assistant", "content": content},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": calls[0]["toolUseId"], "content": [{"text": "ja"}, IMAGE]}},
            {"toolResult": {"toolUseId": calls[1]["toolUseId"], "content": [{"text": "nein"}], "status": "error"}},
        ]},
    ]
    content, stop, usage = ask(client, messages)
    check.same(f"{name}: final text", content[-1]["text"], final(f"ja {PIXEL_TEXT}", "nein"))
    check.same(f"{name}: final stop", stop, "end_turn")
    check.same(f"{name}: cache read", usage["cacheReadInputTokens"], SECOND["cache_read"])
    return messages


def signed():
    loop("signed whole", connect(), whole)
    loop("signed stream", connect(), streamed)


def bearer():
    loop("bearer whole", connect(bearer="secret"), whole)
    loop("bearer stream", connect(bearer="secret"), streamed)


def models():
    listed = connect("bedrock").list_foundation_models()["modelSummaries"]
    check.same("models", [model["modelId"] for model in listed],
               ["anthropic.claude-opus-4-5-20251101-v1:0", "amazon.nova-pro-v1:0"])


def errors():
    hello = [{"role": "user", "content": [{"text": "hi"}]}]
    ask = lambda client: client.converse(modelId=MODEL, messages=hello)
    check.raises("a wrong key", "UnrecognizedClientException", lambda: ask(connect(access="wrong")), 403)
    check.raises("a wrong secret", "InvalidSignatureException", lambda: ask(connect(secret="guess")), 403)
    check.raises("a wrong bearer", "AccessDeniedException", lambda: ask(connect(bearer="wrong")), 403)
    client = connect()
    check.raises("an invalid request", "ValidationException",
                 lambda: client.converse(modelId=MODEL, messages=hello + hello), 400, "must alternate")
    check.raises("an invalid request, streaming", "ValidationException",
                 lambda: client.converse_stream(modelId=MODEL, messages=hello + hello), 400, "must alternate")
    messages = loop("changed thinking", client, whole)
    messages[1]["content"][0]["reasoningContent"]["reasoningText"]["text"] += "!"
    check.raises("changed thinking", "ValidationException", lambda: whole(client, messages), 400, "Invalid `signature`")


def trouble():
    client = connect()
    ask = lambda text, call=client.converse: call(modelId=MODEL, messages=[{"role": "user", "content": [{"text": text}]}])
    check.raises("429", "ThrottlingException", lambda: ask("!status 429"), 429)
    check.raises("503", "ServiceUnavailableException", lambda: ask("!status 503"), 503)
    check.raises("overflow", "ValidationException", lambda: ask("!overflow"), 400, "Input is too long")
    check.raises("an error in the stream", "EventStreamError",
                 lambda: list(ask("!stream-error", client.converse_stream)["stream"]), contains="serviceUnavailableException")
    words = dict(length="max_tokens", refusal="content_filtered", context="model_context_window_exceeded",
                 sequence="stop_sequence")
    for word, reason in words.items():
        check.same(f"stops for {word}", ask(f"!stop {word}")["stopReason"], reason)
        events = list(ask(f"!stop {word}", client.converse_stream)["stream"])
        check.same(f"stops for {word}, streaming", events[-2]["messageStop"]["stopReason"], reason)


check.run(signed, bearer, models, errors, trouble)
