"""What keeps schemathesis from doing harm: it calls every operation, and some run commands and name paths.

`before_call` is the last thing that happens to a request before it is sent, whichever phase made it: examples,
coverage, fuzzing, stateful, and what a check sends again. What it replaces:

- a command, over HTTP and in the arguments of a tool: one of a few that do nothing;
- a directory or file: one below CADRE_TEST_DIRECTORY, which the test made and removes;
- a port to wait for: one where nothing listens; a time to wait: at most 50 ms.

A value of a wrong type stays as it is, since the server has to refuse it.

The server adds to that: `processes.allow_shell` is off, PATH has git and a few harmless programs and nothing else,
and its own directory, HOME and repository are thrown away with the test.
"""

import collections
import itertools
import json
import os
import re
import zlib

import schemathesis

WORK = os.environ["CADRE_TEST_DIRECTORY"]
COMMANDS = ["true", "false", "echo hello", "sleep 0.05"]
"""Prompts that the demo agent carries out as a script, so that there are tools and approvals to ask about."""
PROMPTS = ["say hello", "ask Run the tests", "tool Read a file => done", "think; say hello"]
LONGEST_WAIT_MS = 50


"""What names a thing by its id, and how such ids begin: a made-up id would be refused before anything is tried."""
NAMES = {
    "session_id": "sess",
    "source_session_id": "sess",
    "caller_agent_id": "sess",
    "callerAgentId": "sess",
    "agent_id": "sess",
    "lead_agent_id": "sess",
    "member_agent_ids": "sess",
    "sender_agent_id": "sess",
    "recipient_agent_id": "sess",
    "team_id": "team",
    "process_id": "proc",
    "worktree_id": "wt",
    "race_id": "race",
    "message_id": "msg",
    "delivery_id": "dlv",
    "approval_id": "apr",
    "turn_id": "turn",
}
NUMBERS = itertools.count()
"""The newest ids that the server has told of, by their beginning."""
KNOWN = collections.defaultdict(lambda: collections.deque(maxlen=8))


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code >= 300:
        return
    if case.operation.path.endswith("/close") or case.method == "DELETE":
        # What has ended would be refused by most operations.
        for gone in (case.path_parameters or {}).values():
            for ids in KNOWN.values():
                if gone in ids:
                    ids.remove(gone)
        return
    for found in re.finditer(rb"\b([a-z]+)_[0-9a-f]{32}\b", response.content[:100_000]):
        ids = KNOWN[found[1].decode()]
        if found[0].decode() not in ids and b'"status":"closed"' not in response.content:
            ids.append(found[0].decode())


@schemathesis.hook
def before_call(context, case, kwargs):
    body = harmless_body(case.body)
    if body != case.body:
        case.body = body
    for name, value in list((case.path_parameters or {}).items()):
        case.path_parameters[name] = known_id(name, value)
    key = (case.headers or {}).get("Idempotency-Key")
    # The same few keys come all the time, and a key that was used for another request is refused: one of 8 stays.
    # Not where headers are what is tried: one that was left out on purpose would come back.
    is_valid = case.meta is None or not case.meta.generation.mode.is_negative
    if is_valid and isinstance(key, str) and re.fullmatch(r"[!-~]{1,200}", key) and next(NUMBERS) % 8:
        case.headers["Idempotency-Key"] = f"{key}-{next(NUMBERS)}"
    query = case.query
    if isinstance(query, dict) and case.operation.path.endswith("/wait"):
        if str(query.get("for", "")).startswith("port:"):
            query["for"] = "port:9"
        given = query.get("timeout_ms", 60_000)
        if isinstance(given, int) and LONGEST_WAIT_MS < given <= 60_000:
            query["timeout_ms"] = LONGEST_WAIT_MS
    if isinstance(query, dict) and "repo_root" in query:
        query["repo_root"] = harmless(query["repo_root"], "repo_root")


def harmless_body(body):
    """A body as it may be sent. One that is text is read, since the server would read it, too."""
    if isinstance(body, (bytes, str)):
        try:
            value = json.loads(body)
        except ValueError:
            return body
        safe = harmless(value)
        return body if safe == value else json.dumps(safe)
    return harmless(body)


def known_id(name, value):
    """An id that there is, three times out of four."""
    ids = KNOWN[NAMES.get(name, "")]
    if not isinstance(value, str) or not ids or re.fullmatch(r"[a-z]+_[0-9a-f]{32}", value):
        return value
    choice = zlib.crc32(value.encode("utf-8", "surrogatepass"))
    return value if choice % 4 == 0 else ids[choice // 4 % len(ids)]


def harmless(value, name=None):
    if isinstance(value, dict):
        return {key: harmless(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [harmless(part, name) for part in value]
    if name == "wait_ms" and isinstance(value, int) and value <= 55_000:
        return min(value, LONGEST_WAIT_MS)
    if not isinstance(value, str) or value == "":
        return value
    choice = zlib.crc32(value.encode("utf-8", "surrogatepass"))
    if name in NAMES:
        return known_id(name, value)
    if name in ("command", "check"):
        return COMMANDS[choice % len(COMMANDS)]
    if name == "cwd":
        return os.path.join(WORK, "repository")
    if name == "repo_root":
        return os.path.join(WORK, "repository")
    if name in ("path", "image_paths"):
        return os.path.join(WORK, "image.png")
    if name in ("text", "prompt", "message") and choice % 2 == 0:
        return PROMPTS[choice // 2 % len(PROMPTS)]
    return value
