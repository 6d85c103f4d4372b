#!/bin/sh
# Installs cadre from the archives of a release, or upgrades or removes it.
#
#   sh install.sh [--prefix DIRECTORY] [ARCHIVES]        ARCHIVES: directory or URL with the archives and SHA256SUMS
#   sh install.sh --uninstall [--prefix DIRECTORY]
#
# The default of DIRECTORY is ~/.local; the default of ARCHIVES is the variable CADRE_ARCHIVES, then the URL of the release.
# All files are first written beside their final names: if an installation fails, nothing has changed.
set -eu

default_archives=

documents=share/doc/cadre
list=$documents/installed
directory_list=$documents/installed-directories

# Everything is in functions, so that a script that arrives only in part does nothing.
main() {
  action=install prefix= archives=
  read_arguments "$@"
  find_prefix
  umask 022
  if has sha256sum; then digest='sha256sum'
  elif has shasum; then digest='shasum -a 256'
  else fail "cannot check files: neither sha256sum nor shasum found: install coreutils"
  fi
  work=$(mktemp -d) || fail "cannot create a temporary directory"
  : >"$work/made"
  : >"$work/files"
  staged=
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  "$action"
}

read_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix)
        [ $# -gt 1 ] || usage "--prefix needs a directory"
        prefix=$2
        shift
        ;;
      --prefix=*) prefix=${1#--prefix=} ;;
      --uninstall) action=uninstall ;;
      -h | --help)
        print_usage
        exit 0
        ;;
      -*) usage "unknown option \"$1\"" ;;
      *)
        [ -z "$archives" ] || usage "more than one source of archives"
        archives=$1
        ;;
    esac
    shift
  done
  [ "$action" = install ] || [ -z "$archives" ] || usage "--uninstall takes no archives"
}

print_usage() {
  cat <<'END'
Install, upgrade or remove cadre.

Usage: sh install.sh [--prefix DIRECTORY] [ARCHIVES]
       sh install.sh --uninstall [--prefix DIRECTORY]

  ARCHIVES     Directory or URL with the archives and SHA256SUMS (default: $CADRE_ARCHIVES)
  --prefix     Directory for bin and share (default: ~/.local)
  --uninstall  Remove only the files that this script has installed
END
}

find_prefix() {
  if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || fail "no home directory: pass --prefix DIRECTORY"
    prefix=$HOME/.local
  fi
  case $prefix in
    "~/"*) prefix=${HOME:-}/${prefix#"~/"} ;;
    /*) ;;
    *) prefix=$PWD/$prefix ;;
  esac
  [ "$prefix" = / ] || prefix=${prefix%/}
}

install() {
  : "${archives:=${CADRE_ARCHIVES:-$default_archives}}"
  [ -n "$archives" ] || usage "no archives: pass their directory or URL"
  archives=${archives%/}
  find_target
  get_tree
  stage
  commit
  report
}

find_target() {
  system=$(uname -s) machine=$(uname -m)
  case $system in
    Linux) target=linux ;;
    Darwin) target=darwin ;;
    *) fail "unsupported system \"$system\": cadre runs on Linux and macOS" ;;
  esac
  case $machine in
    x86_64 | amd64) target=$target-x64 ;;
    aarch64 | arm64) target=$target-arm64 ;;
    *) fail "unsupported machine \"$machine\": cadre runs on x86_64 and arm64" ;;
  esac
  if [ "$system" = Linux ] && ldd --version 2>&1 | grep -qi musl; then
    fail "unsupported C library musl: cadre needs a Linux with glibc"
  fi
}

# Sets tree to the unpacked archive for this machine, which has the right checksum and whose program starts.
get_tree() {
  fetch SHA256SUMS
  name=$(sed -n "s/^[0-9a-f]\{64\}  \(cadre-[A-Za-z0-9.+~-]*-$target\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
  [ -n "$name" ] || fail "no archive for $target in SHA256SUMS of $archives"
  [ "$(printf '%s\n' "$name" | wc -l)" -eq 1 ] ||
    fail "several archives for $target in SHA256SUMS of $archives: pass a directory with one version"
  fetch "$name"
  expected=$(grep -F "  $name" "$work/SHA256SUMS" | cut -c 1-64)
  actual=$(digest_of "$work/$name")
  [ "$actual" = "$expected" ] ||
    fail "wrong checksum of $name: got $actual, expected $expected: nothing was installed"
  tar -xzf "$work/$name" -C "$work" || fail "cannot unpack $name"
  tree=$work/${name%.tar.gz}
  version=$("$tree/bin/cadre" --version 2>"$work/error") ||
    fail "the program does not start on this machine: $(head -n 1 "$work/error")"
  # All users may read the address: a name and password in it are left out.
  printf 'install.sh\n%s\n' "$archives" | sed 's|^\(https*://\)[^/]*@|\1|' >"$tree/$documents/installed-by"
}

# Copies a file of the archives to the work directory.
fetch() {
  case $archives in
    http://* | https://*)
      if has curl; then
        curl -fsSL -o "$work/$1" "$archives/$1" || fail "cannot download $archives/$1"
      elif has wget; then
        wget -q -O "$work/$1" "$archives/$1" || fail "cannot download $archives/$1"
      else
        fail "cannot download archives: neither curl nor wget found: install one of them, or pass a directory"
      fi
      ;;
    *)
      [ -f "$archives/$1" ] || fail "file $archives/$1 not found: pass the directory or URL of the archives"
      cp "$archives/$1" "$work/$1" || fail "cannot read $archives/$1"
      ;;
  esac
}

# Writes each file beside its final name.
stage() {
  staged=yes
  (cd "$tree" && find bin share -type f | LC_ALL=C sort) >"$work/files"
  (cd "$tree" && while IFS= read -r file; do $digest "$file"; done <"$work/files") >"$work/installed"
  while IFS= read -r file; do
    make_directory "$prefix/${file%/*}"
    [ ! -d "$prefix/$file" ] || fail "cannot install $prefix/$file: it is a directory"
    cp "$tree/$file" "$prefix/$file.new-$$" || fail "cannot write to $prefix/${file%/*}"
    case $file in
      bin/*) chmod 755 "$prefix/$file.new-$$" ;;
      *) chmod 644 "$prefix/$file.new-$$" ;;
    esac
  done <"$work/files"
  : >"$work/before"
  [ ! -f "$prefix/$list" ] || cp "$prefix/$list" "$work/before"
  {
    [ ! -f "$prefix/$directory_list" ] || cat "$prefix/$directory_list"
    while IFS= read -r directory; do
      case $directory in
        "$prefix") echo . ;;
        "$prefix"/*) printf '%s\n' "${directory#"$prefix"/}" ;;
      esac
    done <"$work/made"
  } | LC_ALL=C sort -u >"$work/directories"
  cp "$work/directories" "$prefix/$directory_list.new-$$" || fail "cannot write to $prefix/$documents"
  cat "$work/before" "$work/installed" >"$prefix/$list.new-$$" || fail "cannot write to $prefix/$documents"
}

# Makes a directory and those above it, and notes what it has made.
make_directory() {
  [ ! -d "$1" ] || return 0
  parent=${1%/*}
  make_directory "${parent:-/}"
  # A path such as DIR// or DIR/../other exists once the directory above it does.
  [ ! -d "$1" ] || return 0
  reason=$(mkdir "$1" 2>&1) || fail "cannot create $1: ${reason##*: }"
  printf '%s\n' "$1" >>"$work/made"
}

# The list comes first, and has the files of both versions, so that what was installed can be removed at any moment.
commit() {
  trap '' HUP INT TERM
  mv -f "$prefix/$list.new-$$" "$prefix/$list"
  mv -f "$prefix/$directory_list.new-$$" "$prefix/$directory_list"
  while IFS= read -r file; do mv -f "$prefix/$file.new-$$" "$prefix/$file"; done <"$work/files"
  while IFS= read -r line; do
    grep -qxF "${line#*  }" "$work/files" || remove_own "$line"
  done <"$work/before"
  cp "$work/installed" "$prefix/$list.new-$$"
  mv -f "$prefix/$list.new-$$" "$prefix/$list"
  staged=
}

report() {
  echo "Installed cadre $version in $prefix"
  [ ! -s "$work/before" ] || echo "A running server of cadre keeps its version until it is restarted: cadre stop"
  case :$PATH: in
    *":$prefix/bin:"*)
      first=$(command -v cadre || true)
      [ "$first" = "$prefix/bin/cadre" ] ||
        echo "The command cadre is $first: put $prefix/bin before its directory in PATH"
      ;;
    *)
      echo "To use cadre, add this line to ~/.profile, and start a new shell:"
      echo "  export PATH=\"$prefix/bin:\$PATH\""
      ;;
  esac
  [ "$system" != Linux ] || has flock || echo "cadre needs the program flock: install util-linux"
  echo "To check this machine, run: $prefix/bin/cadre doctor"
}

uninstall() {
  [ -f "$prefix/$list" ] || fail "no installation found in $prefix: $list does not exist"
  cp "$prefix/$list" "$work/before"
  [ ! -f "$prefix/$directory_list" ] || LC_ALL=C sort -r "$prefix/$directory_list" >"$work/directories"
  while IFS= read -r line; do remove_own "$line"; done <"$work/before"
  rm -f "$prefix/$list" "$prefix/$directory_list"
  rmdir "$prefix/$documents" 2>/dev/null || true
  if [ -f "$work/directories" ]; then
    while IFS= read -r directory; do rmdir "$prefix/$directory" 2>/dev/null || true; done <"$work/directories"
    ! grep -qxF . "$work/directories" || rmdir "$prefix" 2>/dev/null || true
  fi
  echo "Removed cadre from $prefix"
}

# Removes the file of a line of the list, unless it has been changed since.
remove_own() {
  file=$prefix/${1#*  }
  [ -f "$file" ] || return 0
  if [ "$(digest_of "$file")" = "${1%%  *}" ]; then
    rm -f "$file"
  else
    echo "install.sh: kept $file: the file was changed after the installation" >&2
  fi
}

digest_of() {
  $digest "$1" | cut -c 1-64
}

has() {
  command -v "$1" >/dev/null 2>&1
}

clean_up() {
  status=$?
  if [ -n "$staged" ]; then
    while IFS= read -r file; do rm -f "$prefix/$file.new-$$"; done <"$work/files"
    rm -f "$prefix/$list.new-$$" "$prefix/$directory_list.new-$$"
    LC_ALL=C sort -r "$work/made" | while IFS= read -r directory; do rmdir "$directory" 2>/dev/null || true; done
  fi
  rm -rf "$work"
  exit "$status"
}

usage() {
  echo "install.sh: $1" >&2
  print_usage >&2
  exit 2
}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

main "$@"
