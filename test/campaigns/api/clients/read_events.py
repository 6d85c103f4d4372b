"""Reads events with httpx-sse as its documentation shows, and comes back with the last id whenever it is cut off."""

import json
import os
import sys

import httpx
from httpx_sse import connect_sse

URL = os.environ["CADRE_STREAM"]
AUTHORIZATION = {"Authorization": f"Bearer {os.environ['CADRE_TOKEN']}"}
WANTED = int(os.environ["CADRE_WANTED"])

seqs, faults, connections, last = [], [], 0, None
while len(seqs) < WANTED:
    connections += 1
    headers = AUTHORIZATION if last is None else {**AUTHORIZATION, "Last-Event-ID": last}
    try:
        with httpx.Client(timeout=30) as client, connect_sse(client, "GET", URL, headers=headers) as source:
            for event in source.iter_sse():
                if event.data == "" or event.id == "":
                    faults.append([event.event, event.id, event.data])
                    continue
                record = json.loads(event.data)
                if str(record["seq"]) != event.id or record["kind"] != event.event:
                    faults.append([event.event, event.id, event.data])
                last = event.id
                seqs.append(record["seq"])
                if len(seqs) >= WANTED:
                    break
    except httpx.TransportError:
        pass
    if faults:
        break
json.dump({"seqs": seqs, "faults": faults, "connections": connections}, sys.stdout)
