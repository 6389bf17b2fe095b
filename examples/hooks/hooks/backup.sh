# Fails unless there is a backup. Requires jq.
set -euo pipefail
name=$(jq -r '.object.before.input.name')
if [[ ! -e backup-done ]]; then
  echo "The database \"$name\" has no backup: make one, and touch the file backup-done."
  exit 1
fi
echo "The backup of \"$name\" is there."
