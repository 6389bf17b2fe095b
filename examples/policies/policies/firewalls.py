"""Denies firewalls that are open to all addresses, and warns about those without a rule."""

import json
import sys

plan = json.load(sys.stdin)
deny, warn = [], []
for change in plan.get("resource_changes", []):
    after = (change["change"].get("after") or {}).get("input") or {}
    if "open_to" not in after:
        continue
    if "0.0.0.0/0" in after["open_to"]:
        deny.append({"address": change["address"], "message": "A firewall must not be open to everybody."})
    if not after["open_to"]:
        warn.append({"address": change["address"], "message": "This firewall lets nobody in."})
json.dump({"deny": deny, "warn": warn}, sys.stdout)
