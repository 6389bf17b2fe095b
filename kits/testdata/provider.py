"""Items are JSON files in a folder."""
import json
import os
import sys
import time
import uuid

import tombolo

print("what is printed is no answer")
os.system("echo nor is what children print")


class Item(tombolo.Resource):
    def path(self, call, ident):
        return os.path.join(call.provider["root"], ident + ".json")

    def validate(self, call):
        if call.config["name"] == "bad":
            raise tombolo.Error("No such name", attribute=["name"])

    def create(self, call):
        ident = uuid.uuid4().hex
        if call.planned["slow"]:
            call.progress("waiting", 0.5)
            end = time.monotonic() + call.planned["slow"]
            while time.monotonic() < end:
                time.sleep(0.05)
                call.progress("still waiting")
        if call.planned["name"] == "half":
            call.made(id=ident)
            call.warn("Half is done")
            raise tombolo.Error("Only half", detail="the other half is missing")
        call.keep({"made": True})
        return self.store(call, dict(call.planned, id=ident))

    def update(self, call):
        if call.private != {"made": True}:
            raise tombolo.Error("The private data is %r" % (call.private,))
        return self.store(call, dict(call.planned))

    def store(self, call, item):
        item.update(shout=item["name"].upper())
        with open(self.path(call, item["id"]), "w") as f:
            json.dump(item, f, default=str)
        return item

    def read(self, call):
        try:
            with open(self.path(call, call.state["id"])) as f:
                return json.load(f)
        except FileNotFoundError:
            return None

    def delete(self, call):
        try:
            os.remove(self.path(call, call.state["id"]))
        except FileNotFoundError:
            pass

    def import_(self, call):
        ident = call.identity["id"] if call.identity else call.id
        return {"id": ident} if os.path.exists(self.path(call, ident)) else None


    def list(self, call):
        for name in sorted(os.listdir(call.provider["root"])):
            if name.endswith(".json"):
                with open(os.path.join(call.provider["root"], name)) as f:
                    item = json.load(f)
                if item["name"].startswith(call.config["prefix"]):
                    result = {"identity": {"id": item["id"]}, "display_name": item["name"]}
                    yield dict(result, object=item) if call.include_object else result


class Append(tombolo.Action):
    def plan(self, call):
        if call.config["text"] == "":
            raise tombolo.Error("Nothing to append", attribute=["text"])

    def invoke(self, call):
        call.progress("appending", 0.5)
        with open(os.path.join(call.provider["root"], "log"), "a") as f:
            f.write(call.config["text"])
        call.warn("Appended")


class Count(tombolo.DataSource):
    def data(self, call):
        return {"files": len(os.listdir(call.config["folder"]))}


class Token(tombolo.Ephemeral):
    def open(self, call):
        call.keep({"lease": 7})
        return {"token": "t-" + call.config["scope"]}

    def close(self, call):
        if call.private != {"lease": 7}:
            raise tombolo.Error("no lease")


def upper(text):
    if text == "":
        raise tombolo.Error("it is empty", argument=0)
    return text.upper()


def configure(call):
    if call.provider["root"] == "":
        raise tombolo.Error("There is no root", attribute=["root"])


tombolo.run(resources={"kit_item": Item}, data={"kit_count": Count}, ephemeral={"kit_token": Token}, actions={"kit_append": Append}, functions={"upper": upper}, configure=configure)
