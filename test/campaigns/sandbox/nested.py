"""Tries to write a read-only file of a sandbox from namespaces of its own. The arguments are the file, and a writable directory
above it. Prints one JSON object: for each attempt, whether the file could be opened for writing. Nothing is written."""

import ctypes
import json
import os
import sys

pin, directory = sys.argv[1], sys.argv[2]
below = os.path.relpath(pin, directory)
libc = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_MOUNTS = 0x10000000, 0x20000
BIND, RECURSIVE, MOVE, REMOUNT, READ_ONLY, DETACH = 0x1000, 0x4000, 0x2000, 0x20, 0x1, 2
OPEN_TREE, CLONE, HERE = 428, 1, -100
results = {}


def mount(source, target, flags, kind=None):
    words = [one and one.encode() for one in (source, target, kind)]
    return libc.mount(words[0], words[1], words[2], flags, None)


def unmount(target, flags=0):
    return libc.umount2(target.encode(), flags)


def kept_flags(path):
    """The flags of a mount that a remount has to repeat: nosuid, nodev, noexec, noatime, nodiratime, relatime."""
    flags = os.statvfs(path).f_flag
    return flags & 0xC0E | (0x200000 if flags & 0x1000 else 0)


def is_writable(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        return True
    except OSError:
        return False


def enter():
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEW_USER | NEW_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), "no namespaces")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def attempt(name):
    """Runs an attempt in a child with namespaces of its own. Exit codes: 0 writable, 1 not writable, 2 no namespaces."""

    def run(function):
        child = os.fork()
        if child == 0:
            try:
                enter()
            except OSError:
                os._exit(2)
            try:
                os._exit(0 if function() else 1)
            except OSError:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        results[name] = {0: True, 1: False}.get(code)
        return function

    return run


def new_directory(name):
    os.makedirs(f"/tmp/{name}", exist_ok=True)
    return f"/tmp/{name}"


@attempt("control: an unmount of its own mount")
def _():
    own = new_directory("own")
    file = f"{own}/file"
    with open(file, "w") as made:
        made.write("text")
    mount(file, file, BIND)
    mount(None, file, BIND | REMOUNT | READ_ONLY | kept_flags(file))
    if is_writable(file):
        return False
    unmount(file)
    return is_writable(file)


@attempt("an unmount")
def _():
    unmount(pin)
    unmount(pin, DETACH)
    return is_writable(pin)


@attempt("a writable mount")
def _():
    mount(None, pin, BIND | REMOUNT | kept_flags(pin))
    return is_writable(pin)


@attempt("a copy of the directory without its mounts")
def _():
    copy = new_directory("copy")
    return mount(directory, copy, BIND) == 0 and is_writable(f"{copy}/{below}")


@attempt("an unmount in a copy of the directory")
def _():
    copy = new_directory("copy")
    mount(directory, copy, BIND | RECURSIVE)
    unmount(f"{copy}/{below}", DETACH)
    return is_writable(f"{copy}/{below}")


@attempt("a move of the directory")
def _():
    moved = new_directory("moved")
    mount(directory, moved, MOVE)
    unmount(f"{moved}/{below}", DETACH)
    return is_writable(f"{moved}/{below}")


@attempt("an unmount of all directories")
def _():
    unmount(directory, DETACH)
    unmount("/", DETACH)
    return is_writable(pin)


@attempt("a detached copy of the directory")
def _():
    copy = libc.syscall(OPEN_TREE, HERE, directory.encode(), CLONE)
    return copy >= 0 and is_writable(f"/proc/self/fd/{copy}/{below}")


@attempt("an unmount below another root")
def _():
    root = new_directory("root")
    mount("tmpfs", root, 0, "tmpfs")
    os.makedirs(f"{root}/old")
    mount("/", f"{root}/old", BIND | RECURSIVE)
    unmount(f"{root}/old{pin}", DETACH)
    unmount(f"{root}/old{directory}", DETACH)
    return is_writable(f"{root}/old{pin}")


print(json.dumps(results))
