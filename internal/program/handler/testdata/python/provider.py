"""Items are JSON files in a folder. The plan says already what an amount doubled is."""
import json
import os
import sys
import uuid
from decimal import Decimal

action = sys.argv[1]
params = json.load(sys.stdin, parse_float=Decimal)
root = params.get("provider", {}).get("root")


def path(of):
    return os.path.join(root, of["id"] + ".json")


def store(item):
    with open(path(item), "w") as f:
        json.dump(item, f, default=str)
    return {"state": item, "private": {"seen": True}}


def fail(summary, attribute):
    print(json.dumps({"diagnostics": [{"severity": "error", "summary": summary, "attribute": attribute}]}))
    sys.exit(1)


answer = None
if action == "validate":
    if params["config"]["name"] == "bad":
        fail("Bad name", ["name"])
    answer = {}
elif action == "plan":
    amount = params["proposed"]["amount"]
    unknown = "amount" in params["proposed_unknown"]
    answer = {"planned": {} if unknown else {"doubled": None if amount is None else amount * 2}}
elif action == "create":
    answer = store(dict(params["planned"], id=str(uuid.uuid4())))
elif action == "update":
    answer = store(params["planned"])
elif action == "read":
    try:
        with open(path(params["state"])) as f:
            answer = {"state": json.load(f, parse_float=Decimal)}
    except FileNotFoundError:
        pass
elif action == "delete":
    os.remove(path(params["state"]))
elif action == "data":
    answer = {"state": {"items": len(os.listdir(root))}}
elif action == "call":
    answer = {"result": params["args"][0][::-1]}
print(json.dumps(answer, default=str))
