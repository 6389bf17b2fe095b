# Denies plans that destroy or replace an object named database. Requires jq.
set -euo pipefail
jq '{deny: [
  .resource_changes[]? | select(.name == "database" and any(.change.actions[]; . == "delete"))
  | {address, message: "Databases are destroyed by hand, after a backup."}
]}'
