"""Pairs are files in a folder. One process answers all calls, one after the other."""
import json
import os
import sys
import time


class Failure(Exception):
    """Ends a call with an error; data is what is known nevertheless."""

    def __init__(self, message, data=None, code=1):
        super().__init__(message)
        self.data, self.code = data, code


def path(params, key):
    return os.path.join(params["provider"]["root"], key)


def write(params, progress):
    planned = params["planned"]
    if planned["value"] == "slow":
        progress("almost there", 0.5)
        time.sleep(0.2)
    with open(path(params, planned["key"]), "w", encoding="utf-8") as f:
        f.write(planned["value"])
    state = {"id": planned["key"], "length": len(planned["value"])}
    if planned["value"] == "half":
        raise Failure("the disk is full", {"state": state})
    return {"state": state}


def read(params, progress):
    try:
        with open(path(params, params["state"]["id"]), encoding="utf-8") as f:
            value = f.read()
    except FileNotFoundError:
        return None
    return {"state": {"key": params["state"]["id"], "value": value, "length": len(value)}}


def delete(params, progress):
    os.remove(path(params, params["state"]["id"]))


handlers = {
    "initialize": lambda params, progress: {"protocol": 1},
    "create": write,
    "update": write,
    "read": read,
    "delete": delete,
    "call": lambda params, progress: {"result": params["args"][0][::-1]},
}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue  # $/cancelRequest: whatever it is about has been answered when it is read

    def progress(message, fraction, call_id=call["id"]):
        send({"method": "$/progress", "params": {"id": call_id, "message": message, "fraction": fraction}})

    handler = handlers.get(call["method"])
    try:
        if handler is None:
            raise Failure("there is no " + call["method"], code=-32601)
        send({"id": call["id"], "result": handler(call["params"], progress)})
    except Failure as f:
        send({"id": call["id"], "error": {"code": f.code, "message": str(f), "data": f.data}})
    except Exception as e:
        send({"id": call["id"], "error": {"code": 1, "message": repr(e)}})
