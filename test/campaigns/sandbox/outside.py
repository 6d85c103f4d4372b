"""Owns sockets and shared memory outside of a sandbox until its input ends. Prints the id of the shared memory."""

import ctypes
import socket
import sys

sockets = []
for address in sys.argv[1:]:
    one = socket.socket(socket.AF_UNIX)
    one.bind("\0" + address[1:] if address.startswith("@") else address)
    one.listen()
    sockets.append(one)
libc = ctypes.CDLL(None)
shared = libc.shmget(0, 4096, 0o1600)
print("shared", shared, flush=True)
sys.stdin.read()
libc.shmctl(shared, 0, None)
