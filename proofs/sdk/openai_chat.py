"""The `openai` SDK's Chat Completions against the scripted server: whole and streamed tool loops, models, errors."""

import json

import openai
from checks import *

check = Checks("openai chat")
BASE = address() + "/chat/v1"
client = openai.OpenAI(api_key="secret", base_url=BASE, max_retries=0)

REQUEST = dict(
    model="gpt-5.2",
    max_completion_tokens=4096,
    reasoning_effort="high",
    tools=[{"type": "function", "function": {"name": name, "description": about, "parameters": SCHEMA, "strict": True}}
           for name, about in TOOLS],
)


def whole(messages):
    return client.chat.completions.create(messages=messages, **REQUEST)


def streamed(messages):
    with client.chat.completions.stream(messages=messages, stream_options={"include_usage": True}, **REQUEST) as stream:
        for event in stream:
            pass
        return stream.get_final_completion()


def loop(name, ask):
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": PROMPT},
                                     {"type": "image_url", "image_url": {"url": PIXEL_URL}}]},
    ]
    first = ask(messages)
    said = first.choices[0].message
    check.same(f"{name}: text", said.content, ANSWER)
    check.same(f"{name}: reasoning_content", said.model_extra.get("reasoning_content"), THINKING)
    check.same(f"{name}: calls", [(call.function.name, json.loads(call.function.arguments)) for call in said.tool_calls],
               [(tool, ARGUMENTS) for tool, _ in TOOLS])
    check.same(f"{name}: finish reason", first.choices[0].finish_reason, "tool_calls")
    check.same(f"{name}: model", first.model, REQUEST["model"])
    usage = first.usage
    check.same(f"{name}: usage", (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens,
               usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens),
               (150, 90, 240, 0, 20))
    one, two = (call.id for call in said.tool_calls)
    messages += [
        {"role": "assistant", "content": said.content, "tool_calls": [
            {"id": call.id, "type": "function",
             "function": {"name": call.function.name, "arguments": call.function.arguments}} for call in said.tool_calls]},
        {"role": "tool", "tool_call_id": one, "content": "ja"},
        {"role": "tool", "tool_call_id": two, "content": [{"type": "text", "text": "nein"}]},
    ]
    second = ask(messages)
    check.same(f"{name}: final text", second.choices[0].message.content, final("ja", "nein"))
    check.same(f"{name}: final finish", second.choices[0].finish_reason, "stop")
    check.same(f"{name}: cached", second.usage.prompt_tokens_details.cached_tokens, SECOND["cache_read"])
    return messages


def loops():
    loop("whole", whole)
    loop("stream", streamed)


def raw_chunks():
    chunks = list(client.chat.completions.create(messages=[{"role": "user", "content": "hi"}], stream=True,
                                                 stream_options={"include_usage": True}, **REQUEST))
    check.same("the last chunk has usage and no choice", (chunks[-1].choices, chunks[-1].usage is not None), ([], True))
    bare = list(client.chat.completions.create(messages=[{"role": "user", "content": "hi"}], stream=True, **REQUEST))
    check.true("no usage without include_usage", all(chunk.usage is None for chunk in bare))


def models():
    check.same("models", [model.id for model in client.models.list()], ["gpt-5.2", "gpt-4o"])


def errors():
    hello = [{"role": "user", "content": "hi"}]
    wrong = openai.OpenAI(api_key="wrong", base_url=BASE, max_retries=0)
    check.raises("a wrong key", openai.AuthenticationError,
                 lambda: wrong.chat.completions.create(messages=hello, model="gpt-4o"), contains="Incorrect API key")
    check.raises("a wrong key for models", openai.AuthenticationError, lambda: wrong.models.list())
    check.raises("an unknown field", openai.BadRequestError,
                 lambda: client.chat.completions.create(messages=hello, model="gpt-4o", extra_body={"nonsense": 1}),
                 contains="Unrecognized request argument supplied: nonsense")
    check.raises("max_tokens for a reasoning model", openai.BadRequestError,
                 lambda: client.chat.completions.create(messages=hello, model="gpt-5.2", max_tokens=9),
                 contains="max_completion_tokens")
    messages = loop("orphan", whole)
    check.raises("a call without its result", openai.BadRequestError, lambda: whole(messages[:-1]),
                 contains="did not have response messages")


def ask(text, **extra):
    return client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}], **extra)


def trouble():
    check.raises("429", openai.RateLimitError, lambda: ask("!status 429"), 429)
    check.raises("503", openai.InternalServerError, lambda: ask("!status 503"), 503)
    check.raises("overflow", openai.BadRequestError, lambda: ask("!overflow"), contains="context_length_exceeded")
    check.raises("an error in the stream", openai.APIError, lambda: list(ask("!stream-error", stream=True)),
                 contains="broke off")


def stops():
    for word, reason in dict(length="length", refusal="content_filter", sequence="stop").items():
        check.same(f"stops for {word}", ask(f"!stop {word}").choices[0].finish_reason, reason)
        chunks = list(ask(f"!stop {word}", stream=True))
        check.same(f"stops for {word}, streaming", chunks[-1].choices[0].finish_reason, reason)


check.run(loops, raw_chunks, models, errors, trouble, stops)
