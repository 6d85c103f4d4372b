"""Tries to get out of a sandbox. The argument is a JSON object with the paths and ids of the world outside. Prints one
JSON object: for each attempt, what it got, or null if it failed. The caller compares the files outside before and after. Nothing is written to /proc or /sys: files there are only opened."""

import ctypes
import fcntl
import json
import os
import platform
import socket
import stat
import struct
import subprocess
import sys

world = json.loads(sys.argv[1])
home, data, cwd, server = world["home"], world["data"], os.getcwd(), world["server"]
libc = ctypes.CDLL(None, use_errno=True)
is_arm = platform.machine() == "aarch64"
results = {}

# Numbers of system calls: x86-64, arm64.
NUMBERS = {
    "open_by_handle_at": (304, 265),
    "process_vm_readv": (310, 270),
    "ptrace": (101, 117),
    "pidfd_open": (434, 434),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "shmat": (30, 196),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "open_tree": (428, 428),
}


def call(name, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    answer = libc.syscall(ctypes.c_long(NUMBERS[name][is_arm]), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"answer {answer}"


def attempt(name):
    def run(function):
        try:
            got = function()
            results[name] = None if got in (None, False, [], "") else str(got)[:100]
        except (Exception, SystemExit):
            results[name] = None
        return function

    return run


def read(path):
    with open(path, "rb") as file:
        return file.read(40) or None


def plant(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write("PLANTED\n")


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)
        return "connected"


def shell(command):
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=20)
    return ended.returncode == 0 and "exit 0"


def opened(*paths):
    """Opens for writing, and writes nothing."""
    got = []
    for path in paths:
        try:
            os.close(os.open(path, os.O_WRONLY))
            got.append(path)
        except OSError:
            pass
    return got


# Files with secrets.
secrets = {
    "the token of the server": f"{data}/auth/token",
    "the database of the server": f"{data}/events.cadre",
    "a private key of ssh": f"{home}/.ssh/id_ed25519",
    "credentials of a cloud": f"{home}/.aws/credentials",
    "the .env of another project": f"{home}/other/.env",
    "the files of another session in /tmp": world["otherTmp"],
    "the memory of the kernel": "/proc/kcore",
    "/etc/shadow": "/etc/shadow",
    "a file in /dev/shm of the host": world["sharedFile"],
}
for what, file in secrets.items():
    attempt(what)(lambda: read(file))
attempt("the names in the data directory")(lambda: os.listdir(data + "/auth"))


@attempt("the token by a link in the root")
def _():
    os.symlink(data + "/auth/token", cwd + "/link")
    return read(cwd + "/link")


@attempt("the token by a hard link in the root")
def _():
    os.link(data + "/auth/token", cwd + "/hard")
    return "linked"


attempt("the token by /proc/self/root")(lambda: read("/proc/self/root/.." + data + "/auth/token"))
attempt("the token by /proc/1/root")(lambda: read("/proc/1/root" + data + "/auth/token"))
attempt("a file by its handle")(lambda: call("open_by_handle_at", -100, ctypes.create_string_buffer(128), 0) )

# The process of the server.
attempt("the environment of the server")(lambda: read(f"/proc/{server}/environ"))
attempt("the descriptors of the server")(lambda: [os.readlink(f"/proc/{server}/fd/{n}") for n in os.listdir(f"/proc/{server}/fd")][:1])
attempt("the root of the server")(lambda: os.listdir(f"/proc/{server}/root"))
attempt("the memory of the server")(lambda: open(f"/proc/{server}/mem", "rb") and "opened")
attempt("a signal to the server")(lambda: os.kill(server, 0) or "accepted")
attempt("a pidfd of the server")(lambda: call("pidfd_open", server, 0))
attempt("a trace of the server")(lambda: call("ptrace", 0x4206, server, 0, 0) and call("ptrace", 17, server, 0, 0) or "seized")


@attempt("a read in the memory of the server")
def _():
    with open(f"/proc/{server}/maps") as maps:
        start = int(maps.readline().split("-")[0], 16)
    buffer = ctypes.create_string_buffer(8)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    there = (ctypes.c_void_p * 2)(start, 8)
    return call("process_vm_readv", server, here, 1, there, 1, 0)


@attempt("the names of other processes")
def _():
    with open(f"/proc/{server}/comm") as file:
        return file.read()


attempt("a signal to all processes")(lambda: server in [int(one) for one in os.listdir("/proc") if one.isdigit()] and "visible")
attempt("inherited descriptors")(lambda: [n for n in os.listdir("/proc/self/fd") if int(n) > 2 and os.path.exists(f"/proc/self/fd/{n}")])

# Sockets.
attempt("the port of the server")(lambda: connect(socket.AF_INET, ("127.0.0.1", world["port"])))
attempt("a unix socket in the data directory")(lambda: connect(socket.AF_UNIX, world["dataSocket"]))
attempt("a unix socket in /tmp")(lambda: connect(socket.AF_UNIX, world["tmpSocket"]))
attempt("an abstract unix socket")(lambda: connect(socket.AF_UNIX, "\0" + world["abstract"]))
attempt("a socket of the host in the root")(lambda: connect(socket.AF_UNIX, world["rootSocket"]))
attempt("a vsock")(lambda: socket.socket(40, socket.SOCK_STREAM) and "made")
attempt("a packet socket")(lambda: socket.socket(17, socket.SOCK_RAW, 3) and "made")
attempt("a socket of the crypto interface")(lambda: socket.socket(38, socket.SOCK_SEQPACKET) and "made")

# The kernel.
point = (cwd + "/point").encode()
os.mkdir(point)
attempt("a mount")(lambda: call("mount", b"none", point, b"tmpfs", 0, None) and call("umount2", point, 2))
attempt("an unmount of a read-only file")(lambda: shell(f"umount {world['pin']}"))
attempt("a writable /usr")(lambda: shell("mount -o remount,rw,bind /usr /usr"))
attempt("a user namespace")(lambda: shell("unshare -Ur true"))
attempt("an unmount in a user namespace")(lambda: shell(f"unshare -Urm umount {world['pin']}"))
attempt("a remount in a user namespace")(lambda: shell(f"unshare -Urm sh -c 'mount -o bind,remount,rw {world['pin']} && : >> {world['pin']}'"))
attempt("a namespace for mounts")(lambda: shell("unshare -m true"))
attempt("the namespaces of the server")(lambda: call("setns", os.open(f"/proc/{server}/ns/mnt", os.O_RDONLY), 0))
attempt("a clone of the tree of files")(lambda: call("open_tree", -100, b"/", 1))
attempt("a sandbox inside")(lambda: shell("bwrap --ro-bind / / --proc /proc true"))
attempt("keys of the session")(lambda: call("keyctl", 0, -3, 0))
attempt("a program for the kernel")(lambda: call("bpf", 0, ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1) + bytes(104)), 72))
attempt("io_uring")(lambda: call("io_uring_setup", 8, ctypes.create_string_buffer(200)))
attempt("counters of the kernel")(lambda: call("perf_event_open", ctypes.create_string_buffer(struct.pack("II", 1, 120) + bytes(112)), 0, -1, -1, 0))
attempt("handling of page faults")(lambda: call("userfaultfd", 1))
attempt("the pattern of core files")(lambda: opened("/proc/sys/kernel/core_pattern"))
attempt("other settings of the kernel")(lambda: opened("/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/modprobe", "/proc/sys/fs/suid_dumpable"))
attempt("the keys of sysrq, and interrupts")(lambda: opened("/proc/sysrq-trigger", "/proc/irq/default_smp_affinity"))
attempt("settings of cgroups and devices")(lambda: opened("/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/uevent_helper"))
attempt("devices of the host")(lambda: [one for one in ("/dev/vda", "/dev/sda", "/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/kvm") if os.access(one, os.R_OK)])
attempt("memory that processes of the host share")(lambda: call("shmat", world["shared"], 0, 0o10000))
attempt("the terminal of the server")(lambda: os.open("/dev/tty", os.O_RDWR))


@attempt("a device of its own")
def _():
    os.mknod(cwd + "/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    return read(cwd + "/disk")


@attempt("input for a terminal")
def _():
    _master, terminal = os.openpty()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            fcntl.ioctl(terminal, 0x540E, 0)
            fcntl.ioctl(terminal, 0x5412, b"x")
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


attempt("sockets in the environment")(lambda: [one for one in ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS") if one in os.environ])

# Files that run later, outside. The caller compares them.
for file in world["plants"]:
    try:
        plant(file)
    except OSError:
        pass
for old, new in world["renames"]:
    try:
        os.rename(old, new)
    except OSError:
        pass

# Work that has to succeed.
for what, command in world["work"].items():
    results[what] = shell(command) or None
print(json.dumps(results))
