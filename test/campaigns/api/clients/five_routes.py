"""Calls five routes with the client that openapi-python-client made of openapi.yaml, as `cadre_client` beside this."""

import importlib
import json
import os
import pkgutil
import sys

sys.path.insert(0, os.environ["CADRE_CLIENT"])

import cadre_client
from cadre_client import AuthenticatedClient
from cadre_client.api.events import replay_session_events
from cadre_client.api.runtime import get_version, invoke_tool
from cadre_client.api.sessions import create_session, get_session
from cadre_client.api.turns import send_turn
from cadre_client.models import (
    CreateSessionRequest,
    Error,
    InvokeToolRequest,
    KindPattern,
    ProviderId,
    SendTurnRequest,
    TextInput,
    ToolResult,
)

modules = [found.name for found in pkgutil.walk_packages(cadre_client.__path__, "cadre_client.")]
for name in modules:
    importlib.import_module(name)

with AuthenticatedClient(base_url=os.environ["CADRE_URL"], token=os.environ["CADRE_TOKEN"]) as client:
    version = get_version.sync(client=client)
    wish = CreateSessionRequest(provider=ProviderId.ACP, title="python")
    session = create_session.sync(client=client, body=wish)
    text = TextInput(type_="text", text="say hello")
    turn = send_turn.sync(session.id, client=client, body=SendTurnRequest(input_=[text]))
    events = replay_session_events.sync(session.id, client=client, kind=[KindPattern.TURN], limit=1)
    call = InvokeToolRequest(tool_name="cadre_process_status", caller_agent_id=session.id)
    envelope = invoke_tool.sync(client=client, body=call)
    missing = get_session.sync("sess_none", client=client)

print(
    json.dumps(
        {
            "modules": len(modules),
            "name": version.name,
            "provider": session.provider,
            "turn": turn.status,
            "kinds": [event.kind for event in events],
            "tool": list(envelope.result.to_dict()) if isinstance(envelope, ToolResult) else None,
            "refusal": missing.code if isinstance(missing, Error) else None,
        }
    )
)
