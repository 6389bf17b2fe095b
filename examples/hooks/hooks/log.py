"""Appends a line for each change, and one for each apply, to changes.log."""

import json
import sys

event = json.load(sys.stdin)
if event["event"] == "after_object":
    done = event["object"]
    line = f"{done['action']} {done['address']}: {event['outcome']}"
    if event.get("again"):
        line += " (a run was killed meanwhile)"
else:
    counts = event["counts"]
    line = f"apply: {event['outcome']}, {counts['added']} added, {counts['destroyed']} destroyed"
with open("changes.log", "a", encoding="utf-8") as log:
    log.write(line + "\n")
