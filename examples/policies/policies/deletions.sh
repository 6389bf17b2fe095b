# Denies plans that destroy or replace something named database. Needs jq.
set -euo pipefail
jq '{deny: [
  .resource_changes[]? | select(.name == "database" and any(.change.actions[]; . == "delete"))
  | {address, message: "Databases are destroyed by hand, after a backup."}
]}'
