"""A data source in Python."""
import json
import sys

arguments = json.load(sys.stdin)
foo = arguments["foo"]

# .. do something with "foo" ..

json.dump({
    "bar": "xyxy",
}, sys.stdout)
