"""States in a Git repository: a branch for each workspace, a commit for each state, locks and journals as refs.

    config = { repository = "/srv/states.git" }                                     # on this machine
    config = { repository = "states.git", remote = "git@example.com:states.git" }   # a clone of a remote one

Every write updates one ref, on the condition that it has not changed since it was read (git update-ref REF NEW OLD;
with a remote, git push --force-with-lease=REF:OLD). If two machines write at the same time, one of the writes fails.

    refs/heads/states/WORKSPACE           terraform.tfstate; git log shows the history, with the authors
    refs/tombolo/locks/WORKSPACE          info.json: who holds the lock
    refs/tombolo/journals/WORKSPACE       chunk-0000000, chunk-0000001, ...; without chunks, there is no journal
"""
import base64
import json
import os
import subprocess
import sys

# Only responses may be written to standard output: everything printed from here on goes to standard error.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

NOTHING = "0" * 40


class Failure(Exception):
    """An error of a call. The kinds are changed, locked, lost and no_revision; otherwise the result is unknown."""

    def __init__(self, message, kind=None, **data):
        super().__init__(message)
        self.data = dict(data, kind=kind) if kind else data


class Repository:
    """Commits and refs. With a remote, its refs are authoritative."""

    def __init__(self, path, remote, environment):
        self.path, self.remote, self.environment = path, remote, environment
        if not os.path.isdir(os.path.join(path, "refs")):
            subprocess.run(["git", "init", "--quiet", "--bare", path], check=True, stdout=2)

    def git(self, *args, data=None, ok=(0,)):
        """Runs git and returns its output, or None for an allowed failure."""
        done = subprocess.run(["git", "--git-dir", self.path, "-c", "core.fsync=all", "-c", "gc.auto=0", *args],
                              input=data if data is not None else b"", capture_output=True, env=self.environment)
        if done.returncode not in ok:
            raise Failure(f"git {args[0]}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout if done.returncode == 0 else None

    def refs(self, prefix):
        """Returns the refs below a prefix, with their commits."""
        if self.remote:
            lines = self.git("ls-remote", self.remote, prefix + "*").decode().splitlines()
            found = {name: commit for commit, name in (line.split("\t") for line in lines)}
            missing = [name for name, commit in found.items()
                       if self.git("cat-file", "-e", commit, ok=(0, 1, 128)) is None]
            if missing:
                self.git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.remote, *missing)
            return found
        lines = self.git("for-each-ref", "--format=%(objectname) %(refname)", prefix.rstrip("/")).decode().splitlines()
        return {name: commit for commit, name in (line.split(" ") for line in lines)}

    def ref(self, name):
        return self.refs(name).get(name)

    def move(self, ref, old, new):
        """Changes a ref atomically from the old commit to the new one; None means that the ref does not exist."""
        if self.remote:
            lease = f"--force-with-lease={ref}:{old or ''}"
            done = subprocess.run(["git", "--git-dir", self.path, "push", "--quiet", "--porcelain", lease, self.remote,
                                   f"{new or ''}:{ref}"], capture_output=True, env=self.environment)
            said = (done.stdout + done.stderr).decode(errors="replace")
            if done.returncode and "rejected]" not in said:  # the result at the remote is unknown
                raise Failure("git push: " + said.strip())
        elif new:
            done = self.update(ref, new, old or NOTHING)
        else:
            done = self.update("-d", ref, old)
        if done.returncode:
            if self.ref(ref) == old:
                raise Failure("the repository is busy: " + done.stderr.decode(errors="replace").strip())
            raise Failure(ref + " was changed meanwhile", "changed")

    def update(self, *args):
        return subprocess.run(["git", "--git-dir", self.path, "-c", "core.fsync=all", "update-ref", *args],
                              capture_output=True, env=self.environment)

    def commit(self, message, parent, files, base=None):
        """Creates a commit with files, {name: bytes}, in addition to those of another commit."""
        entries = self.git("ls-tree", base) if base else b""
        for name, data in files.items():
            blob = self.git("hash-object", "-w", "--stdin", data=data).decode().strip()
            entries += f"100644 blob {blob}\t{name}\n".encode()
        tree = self.git("mktree", data=entries).decode().strip()
        parents = ["-p", parent] if parent else []
        return self.git("commit-tree", tree, *parents, data=message.encode()).decode().strip()

    def file(self, commit, name):
        return self.git("cat-file", "blob", f"{commit}:{name}")

    def files(self, commit):
        """Returns the names of the files of a commit."""
        return self.git("ls-tree", "--name-only", commit).decode().split()


def escaped(workspace):
    """Returns a valid ref name for a workspace, whose name may contain dots and tildes."""
    return "".join(c if c.isalnum() and c.isascii() or c in "-_" else f"%{ord(c):02x}" for c in workspace)


def unescaped(name):
    parts = name.split("%")
    return parts[0] + "".join(chr(int(p[:2], 16)) + p[2:] for p in parts[1:])


class Store:
    """The store, with a method for each verb."""

    def open(self, config, secrets, **_):
        environment = dict(os.environ, GIT_TERMINAL_PROMPT="0", LC_ALL="C")
        for role in "AUTHOR", "COMMITTER":
            environment.setdefault(f"GIT_{role}_NAME", "tombolo")
            environment.setdefault(f"GIT_{role}_EMAIL", "tombolo@localhost")
        if "repository" not in config:
            raise Failure('config needs "repository", the folder of a Git repository')
        self.repository = Repository(config["repository"], config.get("remote"), environment)
        return {"features": ["journal", "workspaces", "conditions", "history"]}

    def state_ref(self, workspace):
        return "refs/heads/states/" + escaped(workspace)

    def lock_ref(self, workspace):
        return "refs/tombolo/locks/" + escaped(workspace)

    def journal_ref(self, workspace):
        return "refs/tombolo/journals/" + escaped(workspace)

    def workspaces(self, **_):
        prefix = "refs/heads/states/"
        return {"workspaces": [unescaped(name[len(prefix):]) for name in self.repository.refs(prefix)]}

    def read(self, workspace, **_):
        commit = self.repository.ref(self.state_ref(workspace))
        if commit is None:
            return {"data": None, "version": ""}
        return {"data": text(self.repository.file(commit, "terraform.tfstate")), "version": commit}

    def write(self, workspace, lock, data, was, serial, revision, **_):
        self.held(workspace, lock)
        run = revision.get("run") or {}
        subject = f"{run.get('command') or 'state'}: serial {serial}, {revision['created']} created, " \
                  f"{revision['updated']} updated, {revision['deleted']} deleted"
        message = "\n".join([subject, "", *revision["addresses"], "", "Tombolo: " + json.dumps(revision)])
        commit = self.repository.commit(message, was or None, {"terraform.tfstate": raw(data)})
        self.repository.move(self.state_ref(workspace), was or None, commit)
        return {"version": commit}

    def lock(self, workspace, info, **_):
        commit = self.repository.commit("lock", None, {"info.json": json.dumps(info).encode()})
        try:
            self.repository.move(self.lock_ref(workspace), None, commit)
        except Failure as e:
            if e.data.get("kind") == "changed":
                raise Failure("somebody holds the lock", "locked", holder=self.holder(workspace)["holder"])
            raise
        return {}

    def holder(self, workspace, **_):
        commit = self.repository.ref(self.lock_ref(workspace))
        return {"holder": commit and json.loads(self.repository.file(commit, "info.json"))}

    def held(self, workspace, lock):
        """Fails if the caller has lost the lock. Without a lock (-lock=false), only the conditions are checked."""
        holder = self.holder(workspace)["holder"] if lock else None
        if lock and (holder is None or holder["ID"] != lock):
            raise Failure("the lock is no longer held", "lost")

    def unlock(self, workspace, lock, **_):
        commit = self.repository.ref(self.lock_ref(workspace))
        if commit is None or json.loads(self.repository.file(commit, "info.json"))["ID"] != lock:
            raise Failure("the lock is no longer held", "lost")
        try:
            self.repository.move(self.lock_ref(workspace), commit, None)
        except Failure as e:
            if e.data.get("kind") == "changed":
                raise Failure("the lock is no longer held", "lost")
            raise
        return {}

    def delete(self, workspace, lock, **_):
        self.held(workspace, lock)
        for ref in self.state_ref(workspace), self.journal_ref(workspace):
            commit = self.repository.ref(ref)
            if commit:
                self.repository.move(ref, commit, None)
        return {}

    # The version of a journal is its first commit, which all later ones name.

    def journal(self, workspace):
        """Returns the commit of the journal, its version, and the names of its chunks."""
        commit = self.repository.ref(self.journal_ref(workspace))
        if commit is None:
            return None, "", []
        names = self.repository.files(commit)
        version = self.repository.file(commit, "begun").decode() if "begun" in names else commit
        return commit, version, sorted(name for name in names if name.startswith("chunk-"))

    def read_journal(self, workspace, **_):
        commit, version, names = self.journal(workspace)
        return {"version": version, "chunks": [text(self.repository.file(commit, name)) for name in names]}

    def start_journal(self, workspace, lock, was, chunk, **_):
        self.held(workspace, lock)
        commit, version, _ = self.journal(workspace)
        if version != was:
            raise Failure("another journal stands there", "changed")
        files = {"unique": os.urandom(16).hex().encode()}  # makes the commit unique
        if chunk is not None:
            files["chunk-%07d" % 0] = raw(chunk)
        new = self.repository.commit("begin", None, files)
        self.repository.move(self.journal_ref(workspace), commit, new)
        return {"version": new}

    def append_journal(self, workspace, lock, version, number, chunk, **_):
        self.held(workspace, lock)
        commit, there, names = self.journal(workspace)
        if there != version or len(names) != number:
            raise Failure("the journal is another one, or has more chunks", "changed")
        files = {"chunk-%07d" % number: raw(chunk)}
        if commit == version:
            files["begun"] = version.encode()
        new = self.repository.commit("append", None, files, base=commit)
        self.repository.move(self.journal_ref(workspace), commit, new)
        return {}

    def history(self, workspace, **_):
        commit = self.repository.ref(self.state_ref(workspace))
        if commit is None:
            return {"states": []}
        states = []
        for entry in self.repository.git("log", "--format=%H%x01%cI%x01%B%x00", commit).decode().split("\0"):
            if not entry.strip():
                continue
            id, written, message = entry.strip("\n").split("\1")
            data = self.repository.file(id, "terraform.tfstate")
            state = json.loads(data)
            one = {"id": id, "written": written, "serial": state["serial"], "lineage": state["lineage"],
                   "size": len(data)}
            notes = [line[len("Tombolo: "):] for line in message.splitlines() if line.startswith("Tombolo: ")]
            if notes:
                one["revision"] = json.loads(notes[-1])
            states.append(one)
        return {"states": states}

    def snapshot(self, workspace, id, **_):
        commit = self.repository.ref(self.state_ref(workspace))
        known = commit and self.repository.git("merge-base", "--is-ancestor", id, commit, ok=(0, 1, 128))
        if known is None:
            raise Failure("there is no such state", "no_revision")
        return {"data": text(self.repository.file(id, "terraform.tfstate"))}


def raw(data):
    return base64.b64decode(data)


def text(data):
    return base64.b64encode(data).decode()


VERBS = {"open", "workspaces", "read", "write", "lock", "holder", "unlock", "delete", "read_journal", "start_journal",
         "append_journal", "history", "snapshot"}


def answer(store, method, params):
    if method == "initialize":
        return {"result": {"protocol": 1}}
    if method not in VERBS:
        return {"error": {"code": -32601, "message": "no verb " + method}}
    try:
        return {"result": getattr(store, method)(**params)}
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
