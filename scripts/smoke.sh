#!/bin/sh
# Tests that the executable needs nothing else: in an empty directory, with an empty environment and without
# Node in PATH, it starts a server, runs a turn with the demo agent, stops, and leaves nothing behind.
#
#   scripts/smoke.sh [EXECUTABLE]      default: out/cadre
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
executable=${1:-$root/out/cadre}
executable=$(cd "$(dirname "$executable")" && pwd)/$(basename "$executable")
version=$(sed -n 's/^ *"version": "\(.*\)",*$/\1/p' "$root/package.json")
server=

main() {
  [ -x "$executable" ] || fail "$executable not found: run npm run package"
  make_clean_place
  check_version
  start_server
  check_run
  stop_server
  check_nothing_left
  remove_place
  echo "smoke: ok ($executable, $version)"
}

# PATH has only the tools that the user's commands and the server's own shell scripts may call, without Node.
make_clean_place() {
  place=$(mktemp -d)
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkdir "$place/home" "$place/data" "$place/tmp" "$place/tools" "$place/empty"
  for tool in sh cat cut env flock git grep head ls mkdir ps rm sed setsid sleep tail tr uname; do
    path=$(command -v "$tool") || continue
    ln -s "$path" "$place/tools/$tool"
  done
}

# `exec` replaces the calling shell, so this function is only called in a subshell or in the background.
# There, $! is then the process of the executable itself, which gets the signals.
become_cadre() {
  cd "$place/empty"
  exec env -i "PATH=$place/tools" "HOME=$place/home" "TMPDIR=$place/tmp" \
    "XDG_DATA_HOME=$place/data" "$executable" "$@"
}

check_version() {
  printed=$(become_cadre --version) || fail "--version exited with code $?"
  case $printed in
    "$version" | *" $version") ;;
    *) fail "wrong output of --version: got '$printed', expected $version" ;;
  esac
}

start_server() {
  become_cadre serve --demo --port 0 >"$place/serve.log" 2>&1 &
  server=$!
  wait_until 10 server_is_ready || fail "the server was not ready after 10 s"
}

server_is_ready() {
  ended "$server" && fail "the server exited before it was ready"
  grep -q 'http://127\.0\.0\.1:[1-9]' "$place/serve.log"
}

check_run() {
  (become_cadre run "say hello") >"$place/run.log" 2>&1 </dev/null &
  run=$!
  wait_until 30 ended "$run" || fail "run did not exit within 30 s"
  wait "$run" || fail "run exited with code $?"
  grep -qi hello "$place/run.log" || fail "no hello in the output of run"
}

stop_server() {
  kill -TERM "$server"
  wait_until 15 ended "$server" || fail "the server did not exit within 15 s of SIGTERM"
  status=0
  wait "$server" || status=$?
  server=
  [ "$status" -eq 0 ] || fail "the server exited with code $status after SIGTERM"
}

check_nothing_left() {
  wait_until 5 nothing_left || fail "still running: $(leftovers | tr '\n' ' ')"
}

nothing_left() {
  [ -z "$(leftovers)" ]
}

# Finds processes by files of /proc that contain the path of the test directory. The pattern comes by a pipe:
# as an argument it would make grep find itself.
leftovers() {
  printf '%s\n' "$place" |
    grep -laFf - /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null || true
}

# A child that has ended stays in /proc as a zombie until it is waited for.
ended() {
  case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
    '' | Z*) return 0 ;;
    *) return 1 ;;
  esac
}

# wait_until SECONDS COMMAND...
wait_until() {
  tries=$(($1 * 10))
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 0.1
  done
}

remove_place() {
  rm -rf "$place"
  [ ! -e "$place" ] || fail "cannot remove $place"
}

clean_up() {
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$place"
}

fail() {
  echo "smoke: $*" >&2
  for log in "${place:-/nonexistent}"/*.log; do
    [ ! -s "$log" ] || sed "s|^|  $(basename "$log"): |" "$log" >&2
  done
  exit 1
}

main
