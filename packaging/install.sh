#!/bin/sh
# Installs mcprove @VERSION@: downloads the archive of this system, compares its checksum, and puts the program into
# ~/.local/bin. It changes no file of your shell, and needs no root.
#
#   MCPROVE_BIN    the folder for the program, instead of ~/.local/bin
#   MCPROVE_FROM   where the archives are, instead of the release of this version: an address, or a folder
set -eu

version='@VERSION@'
from=${MCPROVE_FROM:-'@REPOSITORY@/releases/download/v@VERSION@'}

fail() {
  echo "error: $1" >&2
  [ $# -lt 2 ] || echo "help: $2" >&2
  exit 1
}

need() {
  command -v "$1" >/dev/null 2>&1 || fail "\`$1\` is needed, and not installed"
}

target() {
  case "$(uname -s)" in
    Linux) system=unknown-linux-musl ;;
    Darwin) system=apple-darwin ;;
    MINGW* | MSYS* | CYGWIN*) system=pc-windows-msvc ;;
    *) fail "there is no archive for $(uname -s)" 'build mcprove with `cargo install --locked mcprove`' ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) processor=x86_64 ;;
    # Windows runs programs for x86_64 there, too.
    aarch64 | arm64) case $system in *windows*) processor=x86_64 ;; *) processor=aarch64 ;; esac ;;
    *) fail "there is no archive for $(uname -m)" 'build mcprove with `cargo install --locked mcprove`' ;;
  esac
  echo "$processor-$system"
}

# get NAME: copies a file of the release into the current folder.
get() {
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 --speed-time 60 --speed-limit 1 \
          --output "$1" "$from/$1" && return
      elif command -v wget >/dev/null 2>&1; then
        wget -q -T 60 -O "$1" "$from/$1" && return
      else
        fail 'neither `curl` nor `wget` is installed'
      fi
      fail "cannot download $from/$1" 'behind a proxy, set `https_proxy`; for a copy of the release, set `MCPROVE_FROM`'
      ;;
    *) cp "$from/$1" "$1" || fail "cannot read $from/$1" ;;
  esac
}

sum() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail 'neither `sha256sum` nor `shasum` is installed, so that the checksum cannot be compared'
  fi
}

main() {
  target=$(target)
  case $target in
    *windows*)
      archive="mcprove-$version-$target.zip" program=mcprove.exe
      need unzip
      ;;
    *)
      archive="mcprove-$version-$target.tar.gz" program=mcprove
      need tar
      ;;
  esac
  bin=${MCPROVE_BIN:-${HOME:+$HOME/.local/bin}}
  [ -n "$bin" ] || fail 'there is no home to install to' 'name a folder, such as `MCPROVE_BIN=/usr/local/bin`'
  case $from in
    http://* | https://* | /* | [A-Za-z]:*) ;;
    *) from=$PWD/$from ;;
  esac
  case $bin in
    /* | [A-Za-z]:*) ;;
    *) bin=$PWD/$bin ;;
  esac
  # Before anything is downloaded: where it could not go.
  mkdir -p "$bin" 2>/dev/null && [ -w "$bin" ] ||
    fail "cannot write to $bin" 'name another folder, such as `MCPROVE_BIN=/tmp/bin`'
  [ ! -d "$bin/$program" ] || fail "$bin/$program is a folder" 'name another place with `MCPROVE_BIN`'
  scratch=$(mktemp -d) || fail 'cannot make a temporary folder' 'name a folder for it with `TMPDIR`'
  # What runs is replaced by what was seen to run.
  new="$bin/.$$-$program"
  trap 'rm -rf "$scratch" "$new"' EXIT
  trap 'exit 130' INT TERM HUP
  cd "$scratch"
  get SHA256SUMS
  expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" SHA256SUMS)
  [ -n "$expected" ] || fail "$from/SHA256SUMS does not name $archive"
  get "$archive"
  actual=$(sum "$archive")
  [ "$actual" = "$expected" ] ||
    fail "the checksum of $archive is $actual, not $expected; nothing was installed" \
      'download it again; if that does not help, the file was changed on its way'
  case $archive in
    *.zip) unzip -q "$archive" ;;
    *) tar -xzf "$archive" ;;
  esac
  cp "mcprove-$version-$target/$program" "$new"
  chmod 755 "$new"
  said=$("$new" --version) ||
    fail "mcprove does not run in $bin; nothing was installed" \
      'see whether the folder allows programs; `MCPROVE_BIN` names another one'
  mv -f "$new" "$bin/$program"
  echo "installed $said as $bin/$program"
  found=$(command -v mcprove || true)
  if [ -z "$found" ]; then
    echo "add it to your path: export PATH=\"$bin:\$PATH\""
  elif [ "$found" != "$bin/$program" ] && [ "$found" != "$bin/mcprove" ]; then
    echo "your path finds $found first"
  fi
}

# All of it was read before anything runs: a download that breaks off does nothing.
main
