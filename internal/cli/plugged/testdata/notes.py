#!/usr/bin/python3
"""A provider in Python, directly on grpc: notes are files in a folder.

It shares no code with the engine. Messages of the plugin protocol are taken apart and put together by hand, by their field numbers.
"""

import base64
import datetime
import json
import os
import sys
import threading
from concurrent import futures

import grpc
import msgpack
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# --- messages


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, (bool, int)):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def parse(data):
    """Gives the fields of a message: a list of values for each number."""
    at, out = 0, {}

    def number():
        nonlocal at
        n = shift = 0
        while True:
            b = data[at]
            at += 1
            n |= (b & 127) << shift
            shift += 7
            if b < 128:
                return n

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            value = number()
        elif tag & 7 == 2:
            size = number()
            value = data[at : at + size]
            at += size
        else:
            raise ValueError("wire type %d" % (tag & 7))
        out.setdefault(tag >> 3, []).append(value)
    return out


def one(message, number, default=b""):
    return message.get(number, [default])[-1]


def load(dynamic):
    return msgpack.unpackb(one(parse(dynamic), 1), raw=False, strict_map_key=False)


def dump(value):
    return field(1, msgpack.packb(value, use_bin_type=True))


UNKNOWN = msgpack.ExtType(0, b"\0")


def error(number, summary, detail, attribute=None):
    path = field(4, field(1, field(1, attribute))) if attribute else b""
    return field(number, field(1, 1) + field(2, summary) + field(3, detail) + path)


# --- the provider


def attribute(name, type_, **flags):
    numbers = {"required": 4, "optional": 5, "computed": 6}
    return field(2, field(1, name) + field(2, json.dumps(type_)) + b"".join(field(numbers[f], True) for f in flags))


def schema(*attributes):
    return field(2, b"".join(attributes))


NOTE = schema(
    attribute("title", "string", required=True),
    attribute("body", "string", optional=True),
    attribute("tags", ["map", "string"], optional=True),
    attribute("id", "string", computed=True),
    attribute("words", "number", computed=True),
)
WORDS = field(1, field(1, "text") + field(2, '"string"')) + field(3, field(1, '"number"'))

state = {"dir": "."}


def path(title):
    return os.path.join(state["dir"], title + ".json")


def stored(id_):
    try:
        with open(path(id_)) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def get_schema(_):
    return (
        field(1, schema(attribute("dir", "string", required=True)))
        + field(2, field(1, "notes_note") + field(2, NOTE))
        + field(7, field(1, "words") + field(2, WORDS))
    )


def configure(request):
    state["dir"] = load(one(request, 2))["dir"]
    os.makedirs(state["dir"], exist_ok=True)
    return b""


def validate(request):
    title = load(one(request, 2))["title"]
    if isinstance(title, str) and "/" in title:
        return error(1, "Invalid title", "A title cannot have a slash.", "title")
    return b""


def upgrade(request):
    return field(1, dump(json.loads(one(parse(one(request, 3)), 1))))


def read(request):
    return field(1, dump(stored(load(one(request, 2))["id"])))


def plan(request):
    prior, proposed = load(one(request, 2)), load(one(request, 3))
    replace = b""
    if proposed is not None:
        if prior is None:
            proposed["id"] = proposed["words"] = UNKNOWN
        elif prior["title"] != proposed["title"]:
            proposed["id"] = proposed["words"] = UNKNOWN
            replace = field(2, field(1, field(1, "title")))
        elif prior["body"] != proposed["body"]:
            proposed["words"] = UNKNOWN
    return field(1, dump(proposed)) + replace


def apply(request):
    prior, planned = load(one(request, 2)), load(one(request, 3))
    if planned is None:
        os.remove(path(prior["id"]))
        return field(1, dump(None))
    if planned["body"] == "crash":
        os._exit(9)
    planned["id"], planned["words"] = planned["title"], len((planned["body"] or "").split())
    with open(path(planned["id"]), "w") as f:
        json.dump(planned, f)
    return field(1, dump(planned))


def import_(request):
    note = stored(one(request, 2).decode())
    if note is None:
        return error(2, "No such note", "There is no note of that name.")
    return field(1, field(1, "notes_note") + field(2, dump(note)))


def call(request):
    text = load(one(request, 2))
    return field(1, dump(len(text.split())))


METHODS = {
    "GetProviderSchema": get_schema,
    "ValidateProviderConfig": lambda request: field(1, one(request, 1)),
    "ConfigureProvider": configure,
    "ValidateResourceConfig": validate,
    "UpgradeResourceState": upgrade,
    "ReadResource": read,
    "PlanResourceChange": plan,
    "ApplyResourceChange": apply,
    "ImportResourceState": import_,
    "StopProvider": lambda _: b"",
    "CallFunction": call,
}

# --- the plugin


def handlers(methods):
    raw = lambda data: data
    return {
        name: grpc.unary_unary_rpc_method_handler(lambda data, _, f=f: f(parse(data)), raw, raw)
        for name, f in methods.items()
    }


def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.utcnow()
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return (
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        cert.public_bytes(pem),
        cert.public_bytes(serialization.Encoding.DER),
    )


def main():
    if "PLUGIN_CLIENT_CERT" not in os.environ:
        sys.exit("This is a plugin, which is started by the program that it extends.")
    ended = threading.Event()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler("tfplugin6.Provider", handlers(METHODS)),
        grpc.method_handlers_generic_handler("plugin.GRPCController", handlers({"Shutdown": lambda _: ended.set() or b""})),
    ))
    key, pem, der = certificate()
    # Only the host that started the plugin may call it.
    credentials = grpc.ssl_server_credentials([(key, pem)], os.environ["PLUGIN_CLIENT_CERT"].encode(), require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    print("1|6|tcp|127.0.0.1:%d|grpc|%s" % (port, base64.b64encode(der).decode().rstrip("=")), flush=True)
    ended.wait()
    server.stop(1).wait()


if __name__ == "__main__":
    main()
