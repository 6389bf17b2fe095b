"""A provider for zone files: the actions of its types."""
import os
import re

import tombolo
import zonefile


def folder(call):
    return zonefile.Folder((call.provider or {}).get("root") or os.environ.get("ZONES_ROOT"))


def mailbox(contact):
    """A mail address as a name: dots before the @ are escaped."""
    local, domain = contact.split("@")
    return local.replace(".", "\\.") + "." + domain.rstrip(".") + "."


def address(name):
    """The mail address that a name means."""
    local, domain = re.match(r"^((?:[^.\\]|\\.)*)\.(.*?)\.?$", name).groups()
    return local.replace("\\", "") + "@" + domain


class Zone(tombolo.Resource):
    def validate(self, call):
        name = call.config["name"]
        if name and len(set(call.config["nameservers"] or [])) < len(call.config["nameservers"] or []):
            raise tombolo.Error("A name server is listed twice", "%s: list each name server once." % name, ["nameservers"])

    def _servers(self, planned):
        return [zonefile.absolute(n, planned["name"] + ".") for n in planned["nameservers"]]

    def create(self, call):
        p, files = call.planned, folder(call)
        servers = self._servers(p)
        with files.locked():
            zone = files.read(p["name"])
            if zone is None:
                files.write(p["name"], "$TTL %d\n%s.\tIN\tSOA\t%s %s %d %d %d %d %d\n%s" % (
                    p["default_ttl"], p["name"], servers[0], mailbox(p["contact"]), zonefile.raised(1970010100), p["refresh"], p["retry"],
                    p["expire"], p["minimum"], "".join("%s.\tIN\tNS\t%s\n" % (p["name"], s) for s in servers)))
            elif self._found(zone, p) != {k: v for k, v in p.items() if k != "id"}:
                # An equal file is what an interrupted creation left.
                raise tombolo.Error("The zone exists already", "%s holds other values. Import the zone with the id %s, or remove the file." % (
                    zone.path, p["name"]), ["name"])
        return {"id": p["name"]}

    def _found(self, zone, known):
        """The attributes of the zone in the spelling of the known ones."""
        words = zone.soa().data.split()
        there = [e.data for e in zone.find(zone.name + ".", "NS")]
        there.sort(key=lambda s: s != words[0])
        contact = address(words[1])
        servers = there
        if known.get("nameservers") and sorted(self._servers(known)) == sorted(there) and self._servers(known)[0] == words[0]:
            servers = known["nameservers"]
        numbers = dict(zip(("refresh", "retry", "expire", "minimum"), (zonefile.seconds(w) for w in words[3:])))
        return dict(numbers, name=zone.name, nameservers=servers, contact=contact, default_ttl=zone.default)

    def read(self, call):
        zone = folder(call).read(call.state["name"])
        return zone and dict(self._found(zone, call.state), id=zone.name)

    def update(self, call):
        p, files = call.planned, folder(call)
        servers = self._servers(p)
        with files.locked():
            zone = files.read(p["name"])
            if zone is None:
                raise tombolo.Error("The zone is gone", "Somebody removed %s since it was read. Plan again." % files.path(p["name"]))
            before = zone.text()
            zone.write_soa(primary=servers[0], contact=mailbox(p["contact"]), refresh=p["refresh"], retry=p["retry"], expire=p["expire"],
                           minimum=p["minimum"])
            old = zone.find(p["name"] + ".", "NS")
            zone.replace(p["name"] + ".", "NS", old[0].ttl if old else None, servers)
            for e in zone.entries:
                if e.kind == "$TTL":
                    e.text = "$TTL %d\n" % p["default_ttl"]
            files.save(zone, before)
        return {}

    def delete(self, call):
        name, files = call.state["name"], folder(call)
        with files.locked():
            zone = files.read(name)
            if zone is None:
                return
            others = [e for e in zone.entries if e.data and e.kind != "SOA" and not (e.kind == "NS" and e.owner == name + ".")]
            if others:
                raise tombolo.Error("The zone has other records", "%s still has %d records that this configuration does not manage, such as %s %s. "
                                    "Remove them, or keep the file with a removed block." % (zone.path, len(others), others[0].owner, others[0].kind))
            os.unlink(zone.path)

    def import_(self, call):
        name = call.identity["name"] if call.identity else call.id
        zone = folder(call).read(name)
        return zone and dict(self._found(zone, {}), id=name)


class RecordSet(tombolo.Resource):
    def validate(self, call):
        c = call.config
        if not c["zone"] or not c["type"] or c["values"] is None:
            return
        for value in c["values"]:
            if value is None:
                continue  # it is not known yet
            try:
                zonefile.given(c["type"], value, c["zone"])
            except ValueError as e:
                raise tombolo.Error("The value is not valid", '"%s" cannot be a value of type %s: %s.' % (value, c["type"], e), ["values"]) from e
        if c["type"] == "CNAME" and len(c["values"]) > 1:
            raise tombolo.Error("A name has one CNAME", "%d values are configured." % len(c["values"]), ["values"])

    def _zone(self, files, name):
        zone = files.read(name)
        if zone is None:
            raise tombolo.Error("The zone does not exist", "There is no file %s. Create the zone first, as with zones_zone." % files.path(name), ["zone"])
        if zone.default is None:
            raise tombolo.Error("The zone file has no $TTL", "%s needs a line such as \"$TTL 3600\" before its first record: without it, "
                                "records take the TTL of the record before them." % zone.path, ["zone"])
        if any(e.kind == "$INCLUDE" for e in zone.entries):
            raise tombolo.Error("The zone file includes others", "%s has a line $INCLUDE. Put the records into the file itself: this provider "
                                "does not see those of other files." % zone.path, ["zone"])
        return zone

    def _write(self, call, created):
        p, files = call.planned, folder(call)
        owner = zonefile.absolute(p["name"], p["zone"] + ".")
        values = {zonefile.given(p["type"], v, p["zone"]) for v in p["values"]}
        with files.locked():
            zone = self._zone(files, p["zone"])
            before, there = zone.text(), zone.find(owner, p["type"])
            # Records that are equal to the planned ones are what an interrupted creation left.
            if created and there and ({e.data for e in there}, there[0].ttl) != (values, p["ttl"]):
                raise tombolo.Error("The records exist already", "%s has other %s records of %s. Import them with the id %s/%s/%s, or remove them." % (
                    zone.path, p["type"], owner, p["zone"], p["name"], p["type"]), ["name"])
            other = [e.kind for e in zone.find(owner) if e.kind != p["type"] and "CNAME" in (e.kind, p["type"])]
            if other:
                raise tombolo.Error("A name with a CNAME has no other records", "%s has records of type %s." % (owner, ", ".join(other)), ["type"])
            zone.replace(owner, p["type"], p["ttl"], values)
            files.save(zone, before)
        return {"id": "%s/%s/%s" % (p["zone"], p["name"], p["type"])}

    def create(self, call):
        return self._write(call, True)

    def update(self, call):
        return self._write(call, False)

    def _found(self, call, zone_name, name, kind, known):
        files = folder(call)
        zone = files.read(zone_name)
        there = zone.find(zonefile.absolute(name, zone_name + "."), kind) if zone else []
        if not there:
            return None
        spelling = {zonefile.given(kind, v, zone_name): v for v in known}
        plain = (lambda d: zonefile.unquoted(zonefile._WORD.findall(d))) if kind == "TXT" else (lambda d: d)
        ttl = there[0].ttl
        return {"id": "%s/%s/%s" % (zone_name, name, kind), "zone": zone_name, "name": name, "type": kind, "ttl": ttl,
                "values": [spelling.get(e.data, plain(e.data)) for e in there]}

    def read(self, call):
        s = call.state
        return self._found(call, s["zone"], s["name"], s["type"], s["values"])

    def delete(self, call):
        s, files = call.state, folder(call)
        with files.locked():
            zone = files.read(s["zone"])
            if zone is not None:
                before = zone.text()
                zone.replace(zonefile.absolute(s["name"], s["zone"] + "."), s["type"], None, [])
                files.save(zone, before)

    def import_(self, call):
        ident = call.identity["id"] if call.identity else call.id
        if ident.count("/") != 2:
            raise tombolo.Error("The id of an import is not valid", '"%s" must have the form ZONE/NAME/TYPE, such as example.com/www/A.' % ident)
        return self._found(call, *ident.split("/"), known=[])


class Records(tombolo.DataSource):
    def data(self, call):
        files = folder(call)
        zone = files.read(call.config["name"])
        if zone is None:
            raise tombolo.Error("The zone does not exist", "There is no file %s." % files.path(call.config["name"]), ["name"])
        return {"serial": zone.serial(), "records": [
            {"name": e.owner, "type": e.kind, "ttl": zone.default if e.ttl is None else e.ttl, "value": e.data} for e in zone.entries if e.data]}


tombolo.run(resources={"zones_zone": Zone, "zones_record_set": RecordSet}, data={"zones_zone": Records})
