"""A provider for rows of PostgreSQL tables: the actions of its types, as SQL."""
import json

import tombolo
from psql import Statement

# All columns of a row r as one JSON object of texts.
WHOLE = "(SELECT json_object_agg(key, value)::text FROM json_each_text(row_to_json(r)))"


def where(statement, key):
    if None in key.values():
        raise tombolo.Error("A key has no value", "Null does not tell one row from another.", ["key"])
    return " AND ".join("r.%s = %s" % (statement.name(column), statement.literal(value)) for column, value in key.items())


def identify(table, key):
    return json.dumps([table, key], sort_keys=True, ensure_ascii=False)


class Row(tombolo.Resource):
    def create(self, call):
        planned, s = call.planned, Statement()
        columns = {**planned["values"], **planned["key"]}
        where(Statement(), planned["key"])
        stored = s.run(call, "INSERT INTO %s AS r (%s) VALUES (%s) RETURNING %s" % (
            s.name(planned["table"]), ", ".join(s.name(c) for c in columns), ", ".join(s.literal(v) for v in columns.values()), WHOLE))
        return {"id": identify(planned["table"], planned["key"]), "row": stored[0]}

    def read(self, call):
        state, s = call.state, Statement()
        # PostgreSQL normalizes values: equal values keep the spelling of the user. ROW makes null equal to null.
        same = ["json_build_object('c', %s::text, 'v', CASE WHEN r.%s IS NOT DISTINCT FROM %s THEN %s::text ELSE r.%s::text END)" % (
            s.literal(c), s.name(c), s.literal(v), s.literal(v), s.name(c)) for c, v in (state["values"] or {}).items()]
        found = s.run(call, "SELECT json_build_object('row', %s::json, 'values', json_build_array(%s))::text FROM %s AS r WHERE %s" % (
            WHOLE, ", ".join(same), s.name(state["table"]), where(s, state["key"])))
        if not found:
            return None
        if len(found) > 1:
            raise tombolo.Error("The key fits several rows", "%d rows have it. Add columns to the key." % len(found), ["key"])
        return {"row": found[0]["row"], "values": {each["c"]: each["v"] for each in found[0]["values"]}}

    def update(self, call):
        planned, s = call.planned, Statement()
        # Columns that are no longer configured get the default of the table.
        values = ["%s = %s" % (s.name(c), s.literal(v)) for c, v in planned["values"].items()]
        values += ["%s = DEFAULT" % s.name(c) for c in call.prior["values"] if c not in planned["values"]]
        stored = s.run(call, "UPDATE %s AS r SET %s WHERE %s RETURNING %s" % (s.name(planned["table"]), ", ".join(values), where(s, planned["key"]), WHOLE))
        if len(stored) != 1:
            raise tombolo.Error("The row is gone", "Somebody deleted it since it was read.", ["key"])
        return {"row": stored[0]}

    def delete(self, call):
        s = Statement()
        s.run(call, "DELETE FROM %s AS r WHERE %s" % (s.name(call.state["table"]), where(s, call.state["key"])))

    def import_(self, call):
        """Imports by the attribute id of a row: ["table", {"column": "value"}], optionally with the managed columns as a third member."""
        try:
            table, key, *columns = json.loads(call.id)
            known = isinstance(table, str) and key and all(isinstance(v, str) for v in key.values())
        except (ValueError, TypeError, AttributeError):
            known = False
        if not known:
            raise tombolo.Error("The id of an import is not understood", 'It has the form ["table", {"key": "value"}, ["column", "other column"]].')
        call.params["state"] = {"table": table, "key": key, "values": {}}
        found = self.read(call)
        if found is None:
            return None
        managed = columns[0] if columns else [c for c in found["row"] if c not in key]
        return {"id": identify(table, key), "table": table, "key": key, "row": found["row"], "values": {c: found["row"].get(c) for c in managed}}


class Query(tombolo.DataSource):
    def data(self, call):
        config, s = call.config, Statement()
        found = s.run(call, "SELECT %s FROM %s AS r%s ORDER BY 1" % (WHOLE, s.name(config["table"]), " WHERE " + where(s, config["where"]) if config["where"] else ""))
        return {"rows": found}


tombolo.run(resources={"sqlrows_row": Row}, data={"sqlrows_query": Query})
