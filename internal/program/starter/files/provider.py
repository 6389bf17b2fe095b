import os
import re

import tombolo


class File(tombolo.Resource):
    def create(self, call):
        with open(call.planned["path"], "w", newline="") as f:
            f.write(call.planned["text"])
        return self.look(call.planned["path"])

    update = create

    def read(self, call):
        return self.look(call.state["path"])

    def import_(self, call):
        return self.look(call.id)

    def delete(self, call):
        try:
            os.remove(call.state["path"])
        except FileNotFoundError:
            pass

    def look(self, path):
        try:
            with open(path, newline="") as f:
                text = f.read()
        except FileNotFoundError:
            return None
        return {"id": path, "path": path, "text": text, "bytes": len(text.encode())}


def slug(text):
    return re.sub("[^a-z0-9]+", "-", text.lower())


tombolo.run(resources={"NAME_file": File}, functions={"slug": slug})
