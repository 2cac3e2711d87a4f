"""The `openai` SDK's Responses against the scripted server, at OpenAI's paths and through the Azure clients."""

import json

import openai
from checks import *

check = Checks("openai responses")
HOST = address()
OPENAI = HOST + "/responses/v1"
AZURE = HOST + "/azure"

REQUEST = dict(
    model="gpt-5.2",
    instructions="Be brief.",
    max_output_tokens=4096,
    store=False,
    include=["reasoning.encrypted_content"],
    reasoning={"effort": "high", "summary": "auto"},
    tools=[{"type": "function", "name": name, "description": about, "parameters": SCHEMA, "strict": True}
           for name, about in TOOLS],
)
IMAGE = {"type": "input_image", "detail": "auto", "image_url": PIXEL_URL}


def whole(client, items):
    return client.responses.create(input=items, **REQUEST)


def streamed(client, items):
    with client.responses.stream(input=items, **REQUEST) as stream:
        numbers, kinds = [], set()
        for event in stream:
            if getattr(event, "sequence_number", None) is not None:
                numbers.append(event.sequence_number)
            kinds.add(event.type)
        reply = stream.get_final_response()
    check.same("sequence numbers count up", numbers, sorted(set(numbers)))
    wanted = {"response.created", "response.in_progress", "response.output_item.added", "response.completed",
              "response.reasoning_summary_text.delta", "response.output_text.delta"}
    check.true("the events have their names", wanted <= kinds, str(wanted - kinds))
    return reply


def loop(name, client, ask):
    items = [{"role": "user", "content": [{"type": "input_text", "text": PROMPT}, IMAGE]}]
    first = ask(client, items)
    check.same(f"{name}: items", [item.type for item in first.output],
               ["reasoning", "message", "function_call", "function_call"])
    check.same(f"{name}: summary", first.output[0].summary[0].text, THINKING)
    check.true(f"{name}: encrypted reasoning", bool(first.output[0].encrypted_content))
    check.same(f"{name}: text", first.output_text, ANSWER)
    calls = first.output[2:]
    check.same(f"{name}: calls", [(call.name, json.loads(call.arguments)) for call in calls],
               [(tool, ARGUMENTS) for tool, _ in TOOLS])
    check.same(f"{name}: status", first.status, "completed")
    usage = first.usage
    check.same(f"{name}: usage", (usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens,
               usage.output_tokens_details.reasoning_tokens), (150, 90, 0, 20))
    items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
    for item in items:
        for part in item.get("content") or []:
            if isinstance(part, dict):
                part.pop("parsed", None)
    items += [
        {"type": "function_call_output", "call_id": calls[0].call_id, "output": [
            {"type": "input_text", "text": "ja"}, IMAGE]},
        {"type": "function_call_output", "call_id": calls[1].call_id, "output": "nein"},
    ]
    second = ask(client, items)
    check.same(f"{name}: final text", second.output_text, final(f"ja {PIXEL_TEXT}", "nein"))
    check.same(f"{name}: cached", second.usage.input_tokens_details.cached_tokens, SECOND["cache_read"])
    return items


def clients(key="secret"):
    return {
        "openai": openai.OpenAI(api_key=key, base_url=OPENAI, max_retries=0),
        "azure": openai.AzureOpenAI(api_key=key, azure_endpoint=AZURE, api_version="2025-04-01-preview", max_retries=0),
        "azure v1": openai.OpenAI(api_key=key, base_url=AZURE + "/openai/v1", max_retries=0),
    }


def loops():
    for name, client in clients().items():
        loop(f"{name} whole", client, whole)
        loop(f"{name} stream", client, streamed)


def models():
    for name, client in clients().items():
        check.same(f"{name}: models", [model.id for model in client.models.list()], ["gpt-5.2", "gpt-4o"])


def errors():
    for name, wrong in clients("wrong").items():
        check.raises(f"{name}: a wrong key", openai.AuthenticationError,
                     lambda: wrong.responses.create(input="hi", model="gpt-4o"))
    client = clients()["openai"]
    check.raises("an unknown field", openai.BadRequestError,
                 lambda: client.responses.create(input="hi", model="gpt-4o", extra_body={"nonsense": 1}),
                 contains="Unknown parameter: 'nonsense'")
    items = loop("orphan", client, whole)
    check.raises("a call without its output", openai.BadRequestError, lambda: whole(client, items[:-1]),
                 contains="No tool output found for function call")
    alone = [item for item in items if item.get("type") in (None, "reasoning")]
    check.raises("reasoning alone", openai.BadRequestError, lambda: whole(client, alone),
                 contains="without its required following item")


def trouble():
    for name, client in clients().items():
        ask = lambda text, **extra: client.responses.create(model="gpt-4o", input=text, **extra)
        check.raises(f"{name}: 429", openai.RateLimitError, lambda: ask("!status 429"), 429)
        check.raises(f"{name}: overflow", openai.BadRequestError, lambda: ask("!overflow"), 400,
                     "context_length_exceeded")
        last = list(ask("!stream-error", stream=True))[-1]
        check.same(f"{name}: an error in the stream", (last.type, last.message),
                   ("error", "The stream broke off in the middle."))


def stops():
    client = clients()["openai"]
    ask = lambda text, **extra: client.responses.create(model="gpt-4o", input=text, **extra)
    for reply in (ask("!stop length"), list(ask("!stop length", stream=True))[-1].response):
        check.same("stops for length", (reply.status, reply.incomplete_details.reason), ("incomplete", "max_output_tokens"))
    for reply in (ask("!stop refusal"), list(ask("!stop refusal", stream=True))[-1].response):
        part = reply.output[0].content[0]
        check.same("stops for refusal", (part.type, part.refusal), ("refusal", "You said “!stop refusal”; let me look."))
    last = list(ask("!stop context", stream=True))[-1]
    check.same("stops for context", (last.type, last.response.error.code), ("response.failed", "context_length_exceeded"))


check.run(loops, models, errors, trouble, stops)
