#!/bin/sh
# Installs Tombolo: downloads the archive of this platform, checks its signature and checksum, and copies the program
# to a folder. If a check fails, nothing is installed.
#
#   sh install.sh                    the newest release, into ~/.local/bin
#   sh install.sh -v 1.15.9 -d DIR   this release, into DIR
#   sh install.sh -u URL             from a mirror: URL/v1.15.9/SHA256SUMS and so on
set -eu

key='@KEY@'
base=https://github.com/tombolo-iac/tombolo/releases
mirror=
version=
dir=${HOME:-}/.local/bin

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

while getopts v:d:u: option; do
  case $option in
    v) version=${OPTARG#v} ;;
    d) dir=$OPTARG ;;
    u) mirror=${OPTARG%/} ;;
    *) fail "usage: install.sh [-v VERSION] [-d DIR] [-u URL]" ;;
  esac
done

case $key in
  *'PUBLIC KEY'*) ;;
  *) fail "this copy has no key to check signatures with; take the install.sh that belongs to a release" ;;
esac
command -v openssl >/dev/null || fail "openssl is missing; it is needed to check the signature"

if command -v curl >/dev/null; then
  get() { curl -fsSL --proto '=https,http' --retry 2 -o "$2" "$1"; }
  location() { curl -fsSL -o /dev/null -w '%{url_effective}' "$1"; }
elif command -v wget >/dev/null; then
  get() { wget -q -O "$2" "$1"; }
  location() { wget -q -S --spider "$1" 2>&1 | sed -n 's/^ *[Ll]ocation: *//p' | tail -1; }
else
  fail "neither curl nor wget is here to download with"
fi
if command -v sha256sum >/dev/null; then
  sum() { sha256sum "$1" | cut -d ' ' -f 1; }
elif command -v shasum >/dev/null; then
  sum() { shasum -a 256 "$1" | cut -d ' ' -f 1; }
else
  sum() { openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1; }
fi

system=$(uname -s | tr '[:upper:]' '[:lower:]')
case $system in
  linux | darwin | freebsd) ;;
  *) fail "there is no archive for $system that this script can install" ;;
esac
machine=$(uname -m)
case $machine in
  x86_64 | amd64) machine=amd64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) fail "there is no archive for the processor $machine" ;;
esac

if [ -z "$version" ]; then
  [ -z "$mirror" ] || fail "name the version with -v: a mirror does not say which one is the newest"
  newest=$(location "$base/latest")
  version=${newest##*/v}
fi
case $version in
  '' | *[!0-9.a-z-]*) fail "\"$version\" is not a version" ;;
esac
from=${mirror:-$base/download}/v$version
archive=tombolo_${version}_${system}_$machine.tar.gz

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
for file in SHA256SUMS SHA256SUMS.sig "$archive"; do
  get "$from/$file" "$work/$file" || fail "$from/$file cannot be downloaded"
done

printf '%s\n' "$key" >"$work/key.pem"
openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/SHA256SUMS.sig" "$work/SHA256SUMS" >/dev/null 2>&1 ||
  fail "the signature of $from/SHA256SUMS is wrong; nothing was installed"
wanted=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
found=$(sum "$work/$archive")
[ -n "$wanted" ] || fail "$from/SHA256SUMS does not name $archive; nothing was installed"
[ "$wanted" = "$found" ] || fail "$archive has the checksum $found instead of $wanted; nothing was installed"

tar -xzf "$work/$archive" -C "$work" tombolo
[ -f "$work/tombolo" ] && [ ! -L "$work/tombolo" ] || fail "$archive has no program"
mkdir -p "$dir"
cp "$work/tombolo" "$dir/.tombolo.$$"
chmod 755 "$dir/.tombolo.$$"
mv -f "$dir/.tombolo.$$" "$dir/tombolo"
echo "Tombolo $version is installed: $dir/tombolo"
case :$PATH: in
  *:"$dir":*) ;;
  *) echo "Add $dir to your PATH, to call it as tombolo." ;;
esac
