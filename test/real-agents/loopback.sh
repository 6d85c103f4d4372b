#!/bin/sh
# Runs a command in a network of its own that has loopback and nothing else, where this machine allows that.
enter='ip link set lo up && exec "$@"'

if unshare --net sh -c "$enter" sh true 2>/dev/null; then
  exec unshare --net sh -c "$enter" sh "$@"
elif unshare --map-root-user --net sh -c "$enter" sh true 2>/dev/null; then
  exec unshare --map-root-user --net sh -c "$enter" sh "$@"
fi
echo 'this machine allows no network of loopback alone; the tests could reach the real one' >&2
exec "$@"
