"""Zone files as RFC 1035, section 5, describes them: read, changed without touching other lines, and replaced atomically under a lock."""
import contextlib
import fcntl
import ipaddress
import os
import re
import tempfile
import time

import tombolo

_CLASSES = {"IN", "CH", "HS", "CS"}
_TTL = re.compile(r"^(\d+[smhdwSMHDW]?)+$")
# A word: a quoted string, a parenthesis, or characters up to the next space. Escaped characters belong to the word.
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|;[^\n]*|(?:[^\s();"\\]|\\.)+', re.S)
# The position of the names in the data of a type; they may be relative.
_NAMES = {"CNAME": 0, "NS": 0, "PTR": 0, "MX": 1, "SRV": 3}


def absolute(name, origin):
    name = name.lower()
    return origin if name == "@" else name if name.endswith(".") else name + "." + origin.lstrip(".")


def seconds(text):
    """A TTL such as 3600 or 1h30m as a number of seconds."""
    factors = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    return sum(int(n) * factors[unit.lower()] for n, unit in re.findall(r"(\d+)([a-zA-Z]?)", text))


def quoted(text):
    """A text as the strings of a TXT record, of at most 255 bytes each."""
    data = text.encode("utf-8")
    pieces = [data[i:i + 255] for i in range(0, len(data), 255)] or [b""]
    return " ".join('"%s"' % "".join(
        "\\" + chr(b) if chr(b) in '"\\' else chr(b) if 32 <= b < 127 else "\\%03d" % b for b in piece) for piece in pieces)


def unquoted(words):
    """The text of the strings of a TXT record."""
    data = b""
    for word in words:
        word = word[1:-1] if word.startswith('"') else word
        for code, char, plain in re.findall(r"\\(\d{3})|\\(.)|([^\\])", word, re.S):
            data += bytes([int(code) & 255]) if code else (char or plain).encode("utf-8")
    return data.decode("utf-8", "replace")


def canonical(kind, words, origin):
    """The data of a record in one spelling, so that equal data are equal texts. It raises ValueError for data that the type does not have."""
    if kind == "TXT":
        return quoted(unquoted(words))
    want = {"A": 1, "AAAA": 1, "CNAME": 1, "NS": 1, "PTR": 1, "MX": 2, "CAA": 3, "SRV": 4}.get(kind)
    if want and len(words) != want:
        raise ValueError("%s has %d parts, and this has %d" % (kind, want, len(words)))
    words = list(words)
    if kind == "A":
        return str(ipaddress.IPv4Address(words[0]))
    if kind == "AAAA":
        return str(ipaddress.IPv6Address(words[0]))
    for i in range({"MX": 1, "SRV": 3, "CAA": 1}.get(kind, 0)):
        if not words[i].isdigit() or int(words[i]) > 65535:
            raise ValueError("%s is not a number from 0 to 65535" % words[i])
        words[i] = str(int(words[i]))
    if kind == "CAA":
        words[2] = quoted(unquoted(words[2:3]))
    if kind == "SOA" and len(words) == 7:
        words[:2] = [absolute(w, origin) for w in words[:2]]
    if kind in _NAMES:
        if not re.match(r"^(@|\.|([A-Za-z0-9_*-]+\.)*[A-Za-z0-9_*-]+\.?)$", words[_NAMES[kind]]):
            raise ValueError("%s is not a name" % words[_NAMES[kind]])
        words[_NAMES[kind]] = absolute(words[_NAMES[kind]], origin)
    return " ".join(words)


def given(kind, value, zone):
    """The data of a record that a user has configured, in one spelling."""
    words = [quoted(value)] if kind == "TXT" else [m.group() for m in _WORD.finditer(value)]
    if kind == "TXT":
        words = _WORD.findall(words[0])
    elif any(w in "()" or w.startswith(";") for w in words):
        raise ValueError("parentheses and semicolons are not allowed")
    return canonical(kind, words, zone + ".")


class Entry:
    """Some lines of the file: a record, a directive, or a comment."""

    def __init__(self, text, owner="", kind="", ttl=None, data="", inherits=False):
        self.text, self.owner, self.kind, self.ttl, self.data, self.inherits = text, owner, kind, ttl, data, inherits


class Zone:
    """The records of a file. Entries that are not changed keep their text."""

    def __init__(self, name, text, path):
        self.name, self.path, self.entries, self.default = name, path, [], None
        self.origin = name + "."
        owner = self.origin
        for number, chunk in _chunks(text, path):
            owner = self._read(chunk, number, owner)

    def _read(self, chunk, number, owner):
        words = [w for w in _WORD.findall(chunk) if w not in ("(", ")") and not w.startswith(";")]
        if not words:
            self.entries.append(Entry(chunk))
            return owner
        if words[0].startswith("$"):
            if words[0].upper() == "$ORIGIN":
                self.origin = absolute(words[1], self.origin)
            elif words[0].upper() == "$TTL":
                self.default = seconds(words[1])
            self.entries.append(Entry(chunk, kind=words[0].upper()))
            return owner
        inherits = chunk[0] in " \t"
        if not inherits:
            owner = absolute(words.pop(0), self.origin)
        ttl = None
        while words and (words[0].upper() in _CLASSES or _TTL.match(words[0])):
            word = words.pop(0)
            ttl = seconds(word) if _TTL.match(word) else ttl
        if not words:
            raise tombolo.Error("The zone file is not valid", "%s, line %d: the record has no type." % (self.path, number))
        kind = words.pop(0).upper()
        try:
            data = canonical(kind, words, self.origin)
        except ValueError as e:
            raise tombolo.Error("The zone file is not valid", "%s, line %d: %s." % (self.path, number, e)) from e
        self.entries.append(Entry(chunk, owner, kind, ttl, data, inherits))
        return owner

    def find(self, owner, kind=None):
        return [e for e in self.entries if e.data and e.owner == owner and kind in (None, e.kind)]

    def replace(self, owner, kind, ttl, values):
        """Replaces all records of a name and type. New ones are where the first old one was, or at the end."""
        old = self.find(owner, kind)
        new = [Entry("%s\t%sIN\t%s\t%s\n" % (owner, "" if ttl is None else "%d\t" % ttl, kind, data), owner, kind, ttl, data)
               for data in sorted(values)]
        at = self.entries.index(old[0]) if old else len(self.entries)
        self.entries[at:at] = new
        self.entries = [e for e in self.entries if e not in old]
        last = None
        for e in self.entries:  # a record that begins with a space has the owner of the record before it
            if e.data and e.inherits and e.owner != last:
                e.text, e.inherits = e.owner + e.text, False
            last = e.owner if e.data else last

    def soa(self):
        found = [e for e in self.entries if e.kind == "SOA"]
        if not found or len(found[0].data.split()) != 7:
            raise tombolo.Error("The zone file is not valid", "%s has no SOA record with seven parts." % self.path)
        return found[0]

    def serial(self):
        return int(self.soa().data.split()[2])

    def write_soa(self, **parts):
        soa = self.soa()
        words = dict(zip(("primary", "contact", "serial", "refresh", "retry", "expire", "minimum"), soa.data.split()), **parts)
        soa.data = " ".join(str(w) for w in words.values())
        ttl = "" if soa.ttl is None else "%d\t" % soa.ttl
        soa.text, soa.inherits = "%s\t%sIN\tSOA\t%s\n" % (soa.owner, ttl, soa.data), False

    def text(self):
        return "".join(e.text if e.text.endswith("\n") else e.text + "\n" for e in self.entries)


def _chunks(text, path):
    """Returns the number and the lines of each entry: parentheses and quotes continue on the next line."""
    depth, start, lines = 0, 1, ""
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not lines:
            start = number
        lines += line
        words = _WORD.findall(line)
        depth += words.count("(") - words.count(")")
        if depth <= 0:
            yield start, lines
            depth, lines = 0, ""
    if lines:
        raise tombolo.Error("The zone file is not valid", "%s, line %d: a parenthesis is not closed." % (path, start))


def raised(serial):
    """The next serial number: the date with two digits, as is usual, unless the old one is higher; RFC 1982 counts modulo 2**32."""
    today = int(time.strftime("%Y%m%d", time.gmtime())) * 100
    return today if serial < today and 1970010100 <= serial else (serial + 1) % 2**32 or 1


class Folder:
    """The folder of the zone files."""

    def __init__(self, root):
        if not root:
            raise tombolo.Error("No folder", "Set root in the provider block, or the environment variable ZONES_ROOT.", ["root"])
        if not os.path.isdir(root):
            raise tombolo.Error("No folder", "%s is not a folder. Create it, or set root to the folder of the zone files." % root, ["root"])
        self.root = root

    def path(self, name):
        return os.path.join(self.root, name + ".zone")

    @contextlib.contextmanager
    def locked(self):
        """Keeps other threads and other runs from changing zones. The lock ends with the process, even if it is killed."""
        with open(os.path.join(self.root, ".zones.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def read(self, name):
        """Returns the zone, or None if it has no file."""
        try:
            with open(self.path(name), encoding="utf-8", newline="") as f:
                return Zone(name, f.read(), self.path(name))
        except FileNotFoundError:
            return None

    def write(self, name, text):
        """Replaces the file: a server or a crash finds the old content or the new one, never a part."""
        path = self.path(name)
        handle, temporary = tempfile.mkstemp(prefix=".%s." % name, dir=self.root)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as f:
                f.write(text)
                f.flush()
                try:
                    kept = os.stat(path)
                    os.fchmod(f.fileno(), kept.st_mode & 0o7777)
                    with contextlib.suppress(PermissionError):
                        os.fchown(f.fileno(), kept.st_uid, kept.st_gid)
                except FileNotFoundError:
                    os.fchmod(f.fileno(), 0o644)
                os.fsync(f.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        folder = os.open(self.root, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def save(self, zone, before):
        """Writes a zone with a higher serial number, if it differs from its text before the change."""
        if zone.text() != before:
            zone.write_soa(serial=raised(zone.serial()))
            self.write(zone.name, zone.text())
