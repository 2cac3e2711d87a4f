"""The `google-genai` SDK against the scripted server, as Gemini and as Vertex: tool loops, models, errors."""

import datetime

from checks import *
from google import genai
from google.auth.credentials import Credentials
from google.genai import errors, types

check = Checks("google genai")
HOST = address()
MODEL = "gemini-3-pro-preview"


class Fake(Credentials):
    """Credentials that never ask Google for anything."""

    def __init__(self, token):
        super().__init__()
        self.token = token
        self.expiry = datetime.datetime(2999, 1, 1)

    def refresh(self, request):
        pass


def gemini(key="secret"):
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=HOST + "/gemini"))


def vertex(key="secret"):
    return genai.Client(vertexai=True, project="some-project", location="us-central1", credentials=Fake(key),
                        http_options=types.HttpOptions(base_url=HOST + "/vertex"))


CONFIG = types.GenerateContentConfig(
    system_instruction="Be brief.",
    max_output_tokens=4096,
    thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="high"),
    tools=[types.Tool(function_declarations=[
        types.FunctionDeclaration(name=name, description=about, parameters_json_schema=SCHEMA)
        for name, about in TOOLS])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


def whole(client, contents):
    reply = client.models.generate_content(model=MODEL, contents=contents, config=CONFIG)
    return reply.candidates[0].content.parts, reply


def streamed(client, contents):
    parts, last = [], None
    for last in client.models.generate_content_stream(model=MODEL, contents=contents, config=CONFIG):
        for part in last.candidates[0].content.parts or []:
            before = parts[-1] if parts else None
            joins = (before is not None and part.text is not None and before.text is not None
                     and before.thought == part.thought and not before.thought_signature)
            if joins:
                before.text += part.text
                before.thought_signature = part.thought_signature
            elif part.text != "" or part.thought_signature:
                parts.append(part)
    return parts, last


def loop(name, client, ask):
    contents = [types.Content(role="user", parts=[
        types.Part(text=PROMPT), types.Part.from_bytes(data=PIXEL, mime_type="image/png")])]
    parts, reply = ask(client, contents)
    check.same(f"{name}: thought", "".join(part.text for part in parts if part.thought), THINKING)
    check.same(f"{name}: text", "".join(part.text for part in parts if part.text and not part.thought), ANSWER)
    calls = [part.function_call for part in parts if part.function_call]
    check.same(f"{name}: calls", [(call.name, call.args) for call in calls], [(tool, ARGUMENTS) for tool, _ in TOOLS])
    check.same(f"{name}: finish reason", reply.candidates[0].finish_reason, types.FinishReason.STOP)
    usage = reply.usage_metadata
    check.same(f"{name}: usage", (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count,
               usage.total_token_count), (150, 70, 20, 240))
    check.same(f"{name}: model version", reply.model_version, MODEL)
    check.true(f"{name}: a signature", any(part.thought_signature for part in parts))
    # The first function call must carry the signature, or the API refuses the next request of this turn.
    signed = next(part.thought_signature for part in parts if part.thought_signature)
    first_call = next(part for part in parts if part.function_call)
    first_call.thought_signature = first_call.thought_signature or signed
    contents += [
        types.Content(role="model", parts=parts),
        types.Content(role="user", parts=[
            types.Part(function_response=types.FunctionResponse(
                id=calls[0].id, name=calls[0].name, response={"output": "ja"},
                parts=[types.FunctionResponsePart.from_bytes(data=PIXEL, mime_type="image/png")])),
            types.Part(function_response=types.FunctionResponse(
                id=calls[1].id, name=calls[1].name, response={"output": "nein"})),
        ]),
    ]
    parts, reply = ask(client, contents)
    check.same(f"{name}: final text", "".join(part.text for part in parts if part.text and not part.thought),
               final(f"ja {PIXEL_TEXT}", "nein"))
    check.same(f"{name}: cached", reply.usage_metadata.cached_content_token_count, SECOND["cache_read"])
    return contents


def loops():
    for name, client in (("gemini", gemini()), ("vertex", vertex())):
        loop(f"{name} whole", client, whole)
        loop(f"{name} stream", client, streamed)


def models():
    names = ["gemini-3-pro-preview", "gemini-2.5-flash", "gemini-2.5-pro"]
    one, two = gemini(), vertex()
    listed = ["models/" + name for name in names]
    check.same("gemini: models", [model.name for model in one.models.list()], listed)
    check.same("gemini: models, page by page", [model.name for model in one.models.list(config={"page_size": 2})], listed)
    check.same("vertex: models", [model.name for model in two.models.list()],
               ["publishers/google/models/" + name for name in names])


def failures():
    ask = lambda client: client.models.generate_content(model=MODEL, contents="hi")
    strangers = gemini("wrong"), vertex("wrong")
    check.raises("gemini: a wrong key", errors.ClientError, lambda: ask(strangers[0]), 400, "API key not valid")
    check.raises("vertex: a wrong token", errors.ClientError, lambda: ask(strangers[1]), 401, "UNAUTHENTICATED")
    for name, client in (("gemini", gemini()), ("vertex", vertex())):
        check.raises(f"{name}: an invalid request", errors.ClientError,
                     lambda: client.models.generate_content(model="gemini-2.5-flash", contents="hi", config=CONFIG),
                     400, "Thinking level is not supported")
        contents = loop(f"{name} unsigned", client, whole)
        for part in contents[1].parts:
            part.thought_signature = None
        check.raises(f"{name}: a call without its signature", errors.ClientError, lambda: whole(client, contents), 400,
                     "missing a thought_signature")
        check.raises(f"{name}: a call without its signature, streaming", errors.ClientError,
                     lambda: streamed(client, contents), 400, "missing a thought_signature")


def trouble():
    for name, client in (("gemini", gemini()), ("vertex", vertex())):
        ask = lambda text: client.models.generate_content(model=MODEL, contents=text)
        check.raises(f"{name}: 429", errors.ClientError, lambda: ask("!status 429"), 429, "RESOURCE_EXHAUSTED")
        check.raises(f"{name}: 500", errors.ServerError, lambda: ask("!status 500"), 500, "INTERNAL")
        check.raises(f"{name}: overflow", errors.ClientError, lambda: ask("!overflow"), 400, "input token count")
        check.raises(f"{name}: an error in the stream", errors.ServerError,
                     lambda: list(client.models.generate_content_stream(model=MODEL, contents="!stream-error")), 503)


def stops():
    for name, client in (("gemini", gemini()), ("vertex", vertex())):
        for word, reason in dict(length="MAX_TOKENS", refusal="SAFETY").items():
            reply = client.models.generate_content(model=MODEL, contents=f"!stop {word}")
            check.same(f"{name}: stops for {word}", reply.candidates[0].finish_reason.name, reason)
            *_, last = client.models.generate_content_stream(model=MODEL, contents=f"!stop {word}")
            check.same(f"{name}: stops for {word}, streaming", last.candidates[0].finish_reason.name, reason)


check.run(loops, models, failures, trouble, stops)
