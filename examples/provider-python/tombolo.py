"""Program providers for Tombolo as classes: one file without dependencies, to copy beside a provider. Python 3.8 or newer.

    import tombolo

    class Note(tombolo.Resource):
        def create(self, call):
            with open(call.planned["path"], "w") as f:
                f.write(call.planned["text"])
            return {"id": call.planned["path"]}

        def read(self, call):
            ...                      # a dict of the current attributes, or None if the object no longer exists

    tombolo.run(resources={"notes_note": Note})

A method has the name of an action of docs/program-protocol.md, with an underscore if it is a Python keyword (import_). It returns the
attributes that it knows; those that it leaves out are unchanged. "implements" in the manifest lists the actions.

The same program works with "mode": "one-shot" and "mode": "session" in the manifest. In a session, objects of the classes live as long as the
process, and with "concurrency" above 1 methods run in several threads. To debug it, start it in an editor with TOMBOLO_LISTEN=/path/of/a.sock.

Output that is printed after the import goes to standard error and is shown to the user. Whole numbers are exact, others are decimal.Decimal.
"""
import json
import os
import signal
import socket
import stat
import sys
import threading
import traceback
from decimal import Decimal

# From here on, only responses are written to standard output, whatever the program and its subprocesses print.
sys.stdout.flush()
_out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.stdout = sys.stderr

__all__ = ["Action", "Call", "Cancelled", "DataSource", "Ephemeral", "Error", "Resource", "Temporary", "run"]


class Error(Exception):
    """Fails a call with a message for the user. attribute is a path such as ["tags", "env"]; argument the number of a function's argument."""

    def __init__(self, summary, detail="", attribute=None, argument=None):
        super().__init__(summary)
        self.summary, self.detail, self.attribute, self.argument = summary, detail, attribute, argument


class Temporary(Error):
    """Requests a retry: see "retry" in the manifest."""


class Cancelled(Error):
    """The call was cancelled."""

    def __init__(self):
        super().__init__("The call was cancelled")


class Resource:
    """create, read, update and delete and, if the manifest lists them, validate, plan, import_, upgrade and list, which returns results: dicts with
    identity, display_name and object."""


class DataSource:
    """data and, if the manifest lists it, validate."""


class Ephemeral:
    """open and, if the manifest lists them, validate, renew and close."""


class Action:
    """invoke, which returns nothing and, if the manifest lists them, validate and plan."""


class Call:
    """One call: the members of its request (config, planned, prior, state, private, identity, id, provider, planned_unknown and so on; None
    if the action has no such member), and methods to report more than the result."""

    def __init__(self, params, say):
        self.params = params
        self.warnings = []
        self.cancelled = threading.Event()
        self._say = say
        self._extra = {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.params.get(name)

    def keep(self, private):
        """Stores any JSON value with the object, for call.private of later calls."""
        self._extra["private"] = _checked(private)

    def identify(self, identity):
        """Reports the identity of the object."""
        self._extra["identity"] = _checked(identity)

    def made(self, **attributes):
        """Reports what already exists, so that it is stored if the call fails later."""
        self._extra["state"] = _checked(attributes)

    def renew_at(self, time):
        """Reports when an ephemeral object has to be renewed, as an RFC 3339 time."""
        self._extra["renew_at"] = str(time)

    def warn(self, summary, detail="", attribute=None):
        self.warnings.append(_diagnostic("warning", summary, detail, attribute))

    def remote_state(self, backend, config=None, workspace="default"):
        """Returns the output values of a state of another configuration, as a dict, or None if there is none. The host reads it: the method ends
        here and is called again from the beginning, so it must not have had any effect before. Not in create, update and delete."""
        asked = {"backend": backend, "workspace": workspace, "config": config or {}}
        name = json.dumps(asked, sort_keys=True, default=_plain)
        have = self.params.get("remote_state") or {}
        if name not in have:
            raise _Asking({**self._asked(), name: asked})
        return have[name]

    def _asked(self):
        """The states that are already available: the host passes those that the last response requested."""
        return {name: json.loads(name) for name in self.params.get("remote_state") or {}}

    def progress(self, message, fraction=None):
        """Reports the progress of the call, and ends it if it was cancelled."""
        self._say(message, fraction)
        if self.cancelled.is_set():
            raise Cancelled()


def run(resources=None, data=None, ephemeral=None, functions=None, configure=None, validate=None, schema=None, actions=None):
    """Handles the calls of the host. Classes are passed by type name; the others are functions that get a Call, except for
    functions, which get the arguments. schema returns the schema, for manifests without one."""
    kinds = [{name: cls() for name, cls in (group or {}).items()} for group in (resources, data, ephemeral, actions)]
    provider = {"configure": configure, "validate": validate, "schema": schema and (lambda call: {"schema": schema(call)})}
    host = _Host(kinds, provider, functions or {}, _out)
    if len(sys.argv) > 1:
        sys.exit(host.one_shot(sys.argv[1]))
    if os.environ.get("TOMBOLO_LISTEN"):
        _listen(os.environ["TOMBOLO_LISTEN"], lambda out: _Host(kinds, provider, functions or {}, out))
    host.session(sys.stdin.buffer)


def _listen(path, connected):
    """Serves a session for each connection to a socket, which only this user can reach, until the process is ended."""
    if os.path.exists(path) and stat.S_ISSOCK(os.lstat(path).st_mode):
        os.remove(path)  # of a program that was killed
    with socket.socket(socket.AF_UNIX) as listener:
        mask = os.umask(0o177)
        listener.bind(path)
        os.umask(mask)
        listener.listen()
        print("Waiting for connections. The host needs this variable in its environment, with the name of your provider: "
              "TOMBOLO_PROGRAM_DEBUG=NAME=unix:%s" % os.path.abspath(path), file=sys.stderr, flush=True)
        while True:
            threading.Thread(target=_serve, args=(listener.accept()[0], connected), daemon=True).start()


def _serve(connection, connected):
    with connection, connection.makefile("rb") as lines, connection.makefile("wb") as out:
        try:
            connected(out).session(lines)
        except OSError:
            pass  # the host has ended


class _Missing(Exception):
    pass


class _Asking(BaseException):
    """Ends a method until the host has read the states that it needs."""

    def __init__(self, states):
        super().__init__("states are needed")
        self.states = states


class _Host:
    def __init__(self, kinds, provider, functions, out):
        self.kinds, self.provider, self.functions, self.out = kinds, provider, functions, out
        self.lock = threading.Lock()

    def find(self, action, params):
        if action == "call":
            return self.functions.get(params["function"])
        if "type" not in params:
            return self.provider.get(action)
        kinds = self.kinds
        if action in ("data", "open", "renew", "close", "invoke"):
            kinds = [self.kinds[{"data": 1, "invoke": 3}.get(action, 2)]]
        for kind in kinds:
            target = kind.get(params["type"])
            method = getattr(target, action, None) or getattr(target, action + "_", None)
            if method:
                return method
        return None

    def perform(self, action, call):
        method = self.find(action, call.params)
        if method is None:
            raise _Missing()
        if action == "call":
            try:
                return {"result": method(*call.params["args"])}
            except Error as e:
                return {"error": {"message": ": ".join(filter(None, [e.summary, e.detail])), "argument": e.argument}}
        try:
            result = method(call)
        except _Asking as e:
            return {"remote_state": e.states}
        if action in ("create", "read", "update", "import", "upgrade", "data"):
            answer = dict(call._extra, state=result)
        elif action == "open":
            answer = dict(call._extra, result=result)
        elif action == "list":
            answer = {"results": list(result or [])}
        elif action in ("renew", "delete", "close", "invoke"):
            answer = {k: v for k, v in call._extra.items() if k != "state"}
        else:
            answer = dict(result or {})
        if call.warnings:
            answer["diagnostics"] = call.warnings + answer.get("diagnostics", [])
        return answer

    def failure(self, call, error):
        """The output of a failed call, and the reason."""
        if isinstance(error, Error):
            problem = _diagnostic("error", error.summary, error.detail, error.attribute)
        else:
            traceback.print_exception(type(error), error, error.__traceback__)
            problem = _diagnostic("error", "%s: %s" % (type(error).__name__, error), _where(error), None)
        return dict(call._extra, diagnostics=call.warnings + [problem])

    def one_shot(self, action):
        """Performs the one call of a process, and returns its exit status."""
        def say(message, fraction):
            line = {"@level": "info", "@message": message}
            if fraction is not None:
                line["@progress"] = float(fraction)
            print(json.dumps(line), file=sys.stderr, flush=True)

        def terminated(*_):
            raise Cancelled()

        call = Call({}, say)
        signal.signal(signal.SIGTERM, terminated)
        try:
            call.params = _read(sys.stdin.buffer.read())
            text, status = _text(self.perform(action, call)), 0
        except _Missing:
            print("The program does not implement %s of %s, though the manifest says so." % (action, call.params.get("type", "the provider")), file=sys.stderr)
            return 1
        except BaseException as e:  # including sys.exit in a method
            text, status = _text(self.failure(call, e)), 75 if isinstance(e, Temporary) else 1
        self.write(text)
        return status

    def session(self, lines):
        calls = {}
        for line in lines:
            message = _read(line)
            method, ident, params = message.get("method"), message.get("id"), message.get("params") or {}
            if method == "initialize":
                if "attached" in params:  # this process was not started by the host
                    os.environ.update(params["attached"]["environment"])
                    os.chdir(params["attached"]["directory"])
                self.write({"jsonrpc": "2.0", "id": ident, "result": {"protocol": 1}})
            elif method == "$/cancelRequest" and params.get("id") in calls:
                calls[params["id"]].cancelled.set()
            elif ident is not None:
                call = calls[ident] = Call(params, self.teller(ident))
                threading.Thread(target=self.serve, args=(calls, ident, method, call), daemon=True).start()

    def teller(self, ident):
        def say(message, fraction):
            params = {"id": ident, "message": message}
            if fraction is not None:
                params["fraction"] = float(fraction)
            self.write({"jsonrpc": "2.0", "method": "$/progress", "params": params})

        return say

    def serve(self, calls, ident, action, call):
        reply = {"jsonrpc": "2.0", "id": ident}
        try:
            reply["result"] = self.perform(action, call)
            text = _text(reply)
        except _Missing:
            text = _text(dict(reply, error={"code": -32601, "message": "The program does not know %s of %s." % (action, call.params.get("type", "the provider"))}))
        except BaseException as e:
            code = 75 if isinstance(e, Temporary) else -32800 if isinstance(e, Cancelled) else 1
            reply.pop("result", None)
            data = self.failure(call, e)
            text = _text(dict(reply, error={"code": code, "message": data["diagnostics"][-1]["summary"], "data": data}))
        calls.pop(ident, None)
        self.write(text)

    def write(self, message):
        text = message if isinstance(message, bytes) else _text(message)
        with self.lock:
            self.out.write(text)
            self.out.flush()


def _where(error):
    """Returns the position of a failure: the last one in a file beside this one, because the others are in libraries."""
    here = os.path.abspath(__file__)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = os.path.abspath(frame.filename)
        if path != here and path.startswith(os.path.dirname(here) + os.sep):
            return "The program has a bug: %s, line %d, in %s. All of the way there is in what it wrote to standard error." % (os.path.basename(path), frame.lineno, frame.name)
    return "The program has a bug; the way there is in what it wrote to standard error."


def _diagnostic(severity, summary, detail, attribute):
    out = {"severity": severity, "summary": _printable(summary) or "It failed"}
    if detail:
        out["detail"] = _printable(detail)
    if attribute is not None:
        out["attribute"] = attribute
    return out


def _read(text):
    return json.loads(text.decode("utf-8"), parse_float=Decimal)


def _text(message):
    return (json.dumps(message, ensure_ascii=False, allow_nan=False, default=_plain) + "\n").encode("utf-8")


def _printable(text):
    """Returns a text without the half surrogates that names of files can have, because UTF-8 cannot express them."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _checked(value):
    """Returns a value of JSON, or raises an exception here, so that the line of the program that is at fault is shown."""
    _text(value)
    return value


def _plain(value):
    if isinstance(value, Decimal):
        return str(value)  # hosts also accept numbers as text, which keeps all digits
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError("%r is no value of JSON" % (value,))
