# The part of the provider that runs on the host, in a POSIX shell. The lines before it set variables to the values of the request.
set -eu
umask 022

fail() { echo "$*" >&2; exit 1; }

# told NAME: prints what standard input holds, as a line that the other side reads.
told() { printf '%s=%s\n' "$1" "$(base64 | tr -d '\n')"; }

# alone: lets one call at a time change the host, from whichever run. The lock ends with this shell.
alone() {
  exec 9<"$unit_folder"
  flock 9
}

# put FILE MODE: replaces a file by standard input, all at once.
put() {
  cat >"$1.tombolo"
  chmod "$2" "$1.tombolo"
  mv "$1.tombolo" "$1"
}

yes_if() { if "$@" >/dev/null 2>&1; then printf yes; else printf no; fi; }

check_unit_name() { case $name in */* | .* | "") fail "\"$name\" is not the name of a unit, such as web.service" ;; esac; }
check_user_name() { case $name in *[!a-z0-9_-]* | -* | "") fail "\"$name\" is not the name of a user" ;; esac; }

unit_read() {
  [ -f "$unit_folder/$name" ] || return 0
  printf %s "$name" | told name
  told content <"$unit_folder/$name"
  yes_if systemctl is-enabled --quiet "$name" | told enabled
  yes_if systemctl is-active --quiet "$name" | told running
}

# unit_create does not replace a file with another content. A file with the same content is what an interrupted creation left.
unit_create() {
  alone
  if [ -f "$unit_folder/$name" ] && ! printf %s "$content" | cmp -s - "$unit_folder/$name"; then
    fail "$unit_folder/$name exists already with another content: import the unit with the id $name, or remove the file"
  fi
  write_unit
}

unit_write() { alone; write_unit; }

write_unit() {
  changed=no
  if ! printf %s "$content" | cmp -s - "$unit_folder/$name"; then
    printf %s "$content" | put "$unit_folder/$name" 644
    changed=yes
  fi
  systemctl daemon-reload
  if [ "$enabled" = true ]; then systemctl enable --quiet "$name" >&2; else systemctl disable --quiet "$name" >&2; fi
  if [ "$running" = false ]; then
    systemctl stop "$name" >&2
  elif [ "$changed" = yes ]; then
    systemctl restart "$name" >&2
  else
    systemctl start "$name" >&2
  fi
}

unit_delete() {
  alone
  if [ -f "$unit_folder/$name" ]; then
    systemctl disable --quiet --now "$name" >&2
    rm -f "$unit_folder/$name"
  fi
  systemctl daemon-reload
}

# entry: sets variables to the fields of the user, or fails if there is none.
entry() {
  line=$(getent passwd "$name") || return 1
  IFS=: read -r _ _ uid gid comment_now home shell_now <<END
$line
END
}

user_read() {
  entry || return 0
  printf %s "$name" | told name
  printf %s "$comment_now" | told comment
  printf %s "$shell_now" | told shell
  printf %s "$uid" | told uid
  printf %s "$home" | told home
  primary=$(id -gn "$name")
  for group in $(id -Gn "$name"); do [ "$group" = "$primary" ] || printf '%s ' "$group"; done | told groups
  if [ -f "$home/.ssh/authorized_keys" ]; then told keys <"$home/.ssh/authorized_keys"; else printf '' | told keys; fi
}

# user_create accepts a user with the planned shell and comment: it is what an interrupted creation left.
user_create() {
  alone
  if ! entry; then
    useradd --create-home --shell "$shell" --comment "$comment" -- "$name" >&2
  elif [ "$shell" != "$shell_now" ] || [ "$comment" != "$comment_now" ]; then
    fail "the user $name exists already: import it with the id $name, or choose another name"
  fi
  write_user
}

user_write() { alone; write_user; }

write_user() {
  entry || fail "the user $name is gone: plan again"
  usermod --shell "$shell" --comment "$comment" -- "$name" >&2
  if [ "$with_groups" = true ]; then usermod --groups "$(printf %s "$groups" | tr '\n' ,)" -- "$name" >&2; fi
  if [ "$with_keys" = true ]; then
    entry
    # The user may own these files, and could replace them by links: they are written with the permissions of the user.
    printf '%s\n' "$authorized_keys" | as_user 'umask 077; cd -- "$1" && mkdir -p .ssh && cd .ssh && cat >authorized_keys.tombolo &&
      mv authorized_keys.tombolo authorized_keys'
  fi
}

# as_user SCRIPT: runs a script with the permissions of the user; $1 is the home directory.
as_user() {
  if [ "$(id -u)" = "$uid" ]; then sh -c "$1" sh "$home"; else setpriv --reuid "$uid" --regid "$gid" --clear-groups sh -c "$1" sh "$home"; fi
}

user_delete() {
  alone
  entry || return 0
  if [ "$remove_home" = true ]; then userdel --remove -- "$name" >&2; else userdel -- "$name" >&2; fi
}
