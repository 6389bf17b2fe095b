"""The store of states "NAME": a SQLite file. Change the class Store to use your own storage.

The engine starts this program once and sends it calls, one JSON object per line; docs/state-programs.md of Tombolo
describes them. Printed text goes to standard error, and is shown with the error of a call.
"""
import base64
import json
import os
import sqlite3
import sys
import time
import uuid

# Only responses may be written to standard output: everything printed from here on goes to standard error.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

TABLES = """
CREATE TABLE IF NOT EXISTS states (workspace TEXT PRIMARY KEY, data BLOB, version TEXT);
CREATE TABLE IF NOT EXISTS locks (workspace TEXT PRIMARY KEY, id TEXT, info TEXT);
CREATE TABLE IF NOT EXISTS journals (workspace TEXT PRIMARY KEY, version TEXT);
CREATE TABLE IF NOT EXISTS chunks (workspace TEXT, number INTEGER, chunk BLOB, PRIMARY KEY (workspace, number));
CREATE TABLE IF NOT EXISTS history (id INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT, written TEXT, serial TEXT,
  lineage TEXT, revision TEXT, data BLOB);
"""


class Failure(Exception):
    """An error of a call. The kinds are changed, locked, lost and no_revision; otherwise the result is unknown."""

    def __init__(self, message, kind=None, **data):
        super().__init__(message)
        self.data = dict(data, kind=kind) if kind else data


class Store:
    """The store, with a method for each verb. Each runs in one transaction, so that conditional writes are atomic."""

    def open(self, config, secrets, **_):
        self.db = sqlite3.connect(config.get("file", "NAME.db"), timeout=60, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.executescript(TABLES)
        return {"features": ["journal", "workspaces", "conditions", "history"]}

    def one(self, query, *args):
        row = self.db.execute(query, args).fetchone()
        return row[0] if row else None

    def held(self, workspace, lock):
        """Fails if the caller has lost the lock. Without a lock (-lock=false), only the conditions are checked."""
        if lock and self.one("SELECT id FROM locks WHERE workspace = ?", workspace) != lock:
            raise Failure("the lock is not held any more", "lost")

    def workspaces(self, **_):
        return {"workspaces": [row[0] for row in self.db.execute("SELECT workspace FROM states")]}

    def read(self, workspace, **_):
        row = self.db.execute("SELECT data, version FROM states WHERE workspace = ?", (workspace,)).fetchone()
        return {"data": text(row[0]), "version": row[1]} if row else {"data": None, "version": ""}

    def write(self, workspace, lock, data, was, serial, lineage, revision, **_):
        self.held(workspace, lock)
        if (self.one("SELECT version FROM states WHERE workspace = ?", workspace) or "") != was:
            raise Failure("another state stands there", "changed")
        version = uuid.uuid4().hex
        self.db.execute("REPLACE INTO states VALUES (?, ?, ?)", (workspace, raw(data), version))
        self.db.execute("INSERT INTO history (workspace, written, serial, lineage, revision, data)"
                        " VALUES (?, ?, ?, ?, ?, ?)", (workspace, now(), str(serial), lineage, json.dumps(revision),
                                                       raw(data)))
        return {"version": version}

    def lock(self, workspace, lock, info, **_):
        holder = self.holder(workspace)["holder"]
        if holder:
            raise Failure("somebody holds the lock", "locked", holder=holder)
        self.db.execute("INSERT INTO locks VALUES (?, ?, ?)", (workspace, lock, json.dumps(info)))
        return {}

    def holder(self, workspace, **_):
        info = self.one("SELECT info FROM locks WHERE workspace = ?", workspace)
        return {"holder": info and json.loads(info)}

    def unlock(self, workspace, lock, **_):
        self.held(workspace, lock)
        self.db.execute("DELETE FROM locks WHERE workspace = ?", (workspace,))
        return {}

    def delete(self, workspace, lock, **_):
        self.held(workspace, lock)
        for table in "states", "journals", "chunks", "history":
            self.db.execute(f"DELETE FROM {table} WHERE workspace = ?", (workspace,))
        return {}

    def read_journal(self, workspace, **_):
        rows = self.db.execute("SELECT chunk FROM chunks WHERE workspace = ? ORDER BY number", (workspace,))
        version = self.one("SELECT version FROM journals WHERE workspace = ?", workspace)
        return {"version": version or "", "chunks": [text(row[0]) for row in rows]}

    def start_journal(self, workspace, lock, was, chunk, **_):
        self.held(workspace, lock)
        if (self.one("SELECT version FROM journals WHERE workspace = ?", workspace) or "") != was:
            raise Failure("another journal stands there", "changed")
        version = uuid.uuid4().hex
        self.db.execute("REPLACE INTO journals VALUES (?, ?)", (workspace, version))
        self.db.execute("DELETE FROM chunks WHERE workspace = ?", (workspace,))
        if chunk is not None:
            self.db.execute("INSERT INTO chunks VALUES (?, 0, ?)", (workspace, raw(chunk)))
        return {"version": version}

    def append_journal(self, workspace, lock, version, number, chunk, **_):
        self.held(workspace, lock)
        count = self.one("SELECT count(*) FROM chunks WHERE workspace = ?", workspace)
        if self.one("SELECT version FROM journals WHERE workspace = ?", workspace) != version or count != number:
            raise Failure("the journal is another one, or has more chunks", "changed")
        self.db.execute("INSERT INTO chunks VALUES (?, ?, ?)", (workspace, number, raw(chunk)))
        return {}

    def history(self, workspace, **_):
        rows = self.db.execute("SELECT id, written, serial, lineage, length(data), revision FROM history"
                               " WHERE workspace = ? ORDER BY id DESC", (workspace,))
        return {"states": [{"id": str(n), "written": written, "serial": int(serial), "lineage": lineage, "size": size,
                            "revision": json.loads(revision)}
                           for n, written, serial, lineage, size, revision in rows]}

    def snapshot(self, workspace, id, **_):
        data = self.one("SELECT data FROM history WHERE workspace = ? AND id = ?", workspace, id)
        if data is None:
            raise Failure("there is no such state", "no_revision")
        return {"data": text(data)}


def raw(data):
    return base64.b64decode(data)


def text(data):
    return base64.b64encode(data).decode()


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


VERBS = {"open", "workspaces", "read", "write", "lock", "holder", "unlock", "delete", "read_journal", "start_journal",
         "append_journal", "history", "snapshot"}


def answer(store, method, params):
    if method == "initialize":
        return {"result": {"protocol": 1}}
    if method not in VERBS:
        return {"error": {"code": -32601, "message": "no verb " + method}}
    try:
        if method == "open":
            return {"result": store.open(**params)}
        store.db.execute("BEGIN IMMEDIATE")
        try:
            result = getattr(store, method)(**params)
            store.db.execute("COMMIT")
        except BaseException:
            store.db.execute("ROLLBACK")
            raise
        return {"result": result}
    except Failure as e:
        return {"error": {"code": 1, "message": str(e), "data": e.data}}
    except Exception as e:
        return {"error": {"code": 1, "message": f"{type(e).__name__}: {e}"}}


def main():
    store = Store()
    for line in sys.stdin.buffer:
        call = json.loads(line)
        if "id" not in call:
            continue  # a notification, such as $/cancelRequest
        reply = answer(store, call["method"], call.get("params") or {})
        answers.write(json.dumps({"jsonrpc": "2.0", "id": call["id"], **reply}) + "\n")
        answers.flush()


main()
