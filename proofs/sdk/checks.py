"""What the SDK scripts share: the address, one line per check, the pictures and the tools.

Usage of every script: SCRIPT HOST:PORT. Exit status 1 when a check failed.
"""

import base64
import sys
import traceback

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PIXEL_BASE64 = base64.b64encode(PIXEL).decode()
PIXEL_URL = "data:image/png;base64," + PIXEL_BASE64
PIXEL_TEXT = f"[image/png, {len(PIXEL)} bytes]"

PROMPT = "Was ist größer?"
THINKING = "The user wants something: größer als gedacht 🦀. Two tools will do."
REDACTED = "b3BhcXVlIHRob3VnaHRz"
ANSWER = f"You said “{PROMPT} {PIXEL_TEXT}”; let me look."
ARGUMENTS = {"path": "größe path", "line": 7}

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path", "line"],
    "additionalProperties": False,
}
TOOLS = [("read_file", "Reads a file"), ("list_files", "Lists files")]

# The tokens of the first and of the second reply, as the server scripts them.
FIRST = dict(input=50, output=90, cache_read=0, cache_write=100, reasoning=20)
SECOND = dict(input=30, output=24, cache_read=120, cache_write=8, reasoning=6)


def final(first, second):
    """The text that quotes two tool results."""
    return f"The tools said “{first}” and “{second}”."


class Checks:
    def __init__(self, title):
        self.title, self.failed, self.passed = title, 0, 0

    def same(self, what, seen, expected):
        self.true(what, seen == expected, f"expected {expected!r}, got {seen!r}")

    def true(self, what, condition, detail=""):
        if condition:
            self.passed += 1
            print(f"ok    {self.title}: {what}")
        else:
            self.failed += 1
            print(f"FAIL  {self.title}: {what}{': ' + detail if detail else ''}")

    def raises(self, what, kind, action, status=None, contains=""):
        """The action must raise exactly this type of the SDK; a name may also be boto3's error code."""
        try:
            action()
        except Exception as error:  # noqa: BLE001 - the type is what is checked
            code = getattr(error, "status_code", None) or getattr(error, "code", None)
            if hasattr(error, "response") and isinstance(error.response, dict):
                code = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            names = [type(error).__name__]
            if hasattr(error, "response") and isinstance(error.response, dict):
                names.append(error.response["Error"]["Code"])
            right = kind in names if isinstance(kind, str) else type(error) is kind
            right = right and (status is None or code == status) and contains in f"{error} {getattr(error, 'body', '')}"
            self.true(what, right, f"{type(error).__name__} {code}: {error}")
        else:
            self.true(what, False, "nothing was raised")

    def run(self, *parts):
        for part in parts:
            try:
                part()
            except Exception:  # noqa: BLE001 - run the next part anyway
                traceback.print_exc()
                self.true(part.__name__, False, "stopped by the exception above")
        print(f"{self.title}: {self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)


def address():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} HOST:PORT")
    return "http://" + sys.argv[1]
