"""A resource in Python: a note is a file in $NOTES, its text the argument "text"."""
import json
import os
import sys
import uuid

notes = os.environ["NOTES"]


def path(id):
    return os.path.join(notes, id + ".txt")


def store(id, arguments):
    if "text" not in arguments:
        sys.exit("a note needs a text")
    with open(path(id), "w", encoding="utf-8") as f:
        f.write(arguments["text"])
    return load(id)


def load(id):
    with open(path(id), encoding="utf-8") as f:
        text = f.read()
    return {"id": id, "arguments": {"text": text}, "result": {"bytes": str(len(text.encode()))}}


def main(action):
    request = json.load(sys.stdin)
    with open(os.path.join(notes, "log"), "a", encoding="utf-8") as f:
        print(action, json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False), file=f)
    if action == "create":
        answer = store("note-" + uuid.uuid4().hex, request["arguments"])
    elif action == "update":
        answer = store(request["id"], request["arguments"])
    elif action == "read":
        answer = load(request["id"]) if os.path.exists(path(request["id"])) else None
    elif action == "delete":
        os.remove(path(request["id"]))
        print("removed", request["id"])
        return
    json.dump(answer, sys.stdout)


main(sys.argv[1])
