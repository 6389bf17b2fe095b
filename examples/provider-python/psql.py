"""Statements for psql: one process for each, with secrets in its environment and everything else on standard input."""
import json
import os
import re
import subprocess
from urllib.parse import parse_qsl, unquote, urlsplit

import tombolo

# The environment variables of psql by keyword of a connection string.
_VARIABLES = {"dbname": "PGDATABASE", "application_name": "PGAPPNAME", "host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "user": "PGUSER",
              "password": "PGPASSWORD", "passfile": "PGPASSFILE", "options": "PGOPTIONS", "sslmode": "PGSSLMODE", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
              "sslrootcert": "PGSSLROOTCERT", "connect_timeout": "PGCONNECT_TIMEOUT", "service": "PGSERVICE", "channel_binding": "PGCHANNELBINDING",
              "target_session_attrs": "PGTARGETSESSIONATTRS"}


def environment(dsn):
    """A connection string, an address or "host=… dbname=…", as environment variables, because all users can read the arguments of a process."""
    if re.match("postgres(ql)?://", dsn):
        url = urlsplit(dsn)
        words = [("host", unquote(url.hostname or "")), ("port", str(url.port or "")), ("user", unquote(url.username or "")),
                 ("password", unquote(url.password or "")), ("dbname", unquote(url.path[1:]))] + parse_qsl(url.query)
    else:
        words = [(name, re.sub(r"\\(.)", r"\1", quoted or plain))
                 for name, quoted, plain in re.findall(r"(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\']|\\.)*))", dsn)]
    variables = dict(os.environ)
    for name, value in words:
        if name not in _VARIABLES:
            raise tombolo.Error("The connection string is not understood", "Its word %s is not among %s." % (name, ", ".join(_VARIABLES)), ["dsn"])
        if value:
            variables[_VARIABLES[name]] = value
    return variables


class Statement:
    """Collects values as variables of psql, which does the quoting: :'v' is a literal, :"v" a name."""

    def __init__(self):
        self.lines = []

    def _set(self, text):
        if "\0" in text:
            raise tombolo.Error("A value cannot be stored", "PostgreSQL stores no text with the character U+0000.")
        # Every byte is escaped except for those without a special meaning in psql.
        quoted = "".join(chr(b) if chr(b).isalnum() and b < 128 else "\\x%02x" % b for b in text.encode("utf-8"))
        self.lines.append("\\set v%d '%s'" % (len(self.lines), quoted))
        return "v%d" % (len(self.lines) - 1)

    def literal(self, text):
        return "NULL" if text is None else ":'%s'" % self._set(text)

    def name(self, text):
        """Returns a name, with or without a schema."""
        return ".".join(':"%s"' % self._set(part) for part in text.split("."))

    def run(self, call, sql):
        """Returns the output of the statement: one JSON value per line."""
        dsn = call.provider["dsn"] or os.environ.get("SQLROWS_DSN") or ""
        text = "\n".join(["\\set ON_ERROR_STOP on", "\\encoding UTF8"] + self.lines + [sql, ";", ""])
        done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-w", "-f", "-"], input=text.encode("utf-8"), env=environment(dsn),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            said = re.sub(r"(?m)^psql:<stdin>:\d+: ", "", done.stderr.decode("utf-8", "replace")).strip()
            raise tombolo.Error("There is no connection to the database" if done.returncode == 2 else "PostgreSQL refused", said)
        return [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
