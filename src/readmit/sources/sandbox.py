"""Runs one command without network, on a read-only file system, in process and mount namespaces of its own.

Started as a program of its own (``python -I -S sandbox.py MODE SECONDS PROGRAM ARGV…``), so that nothing runs between
fork and exec of the process that looks. Uses the standard library alone, and nothing of readmit.

What it does, by the kernel and without privileges: a new user namespace that maps only the caller; no network device;
every mount read-only, without set-user-id programs and without devices but the harmless ones; no view of other
processes; no capabilities; limits on processor time, memory, open files and core dumps; no regular file can grow. What
it does not: the command reads whatever its user can read, and reaches servers that listen on a socket in the file
system.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import struct
import sys

_NEW = 0x0002_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000
"""Namespaces: mounts, host name, IPC, users, processes, network."""
_MS_PRIVATE, _MS_RECURSIVE = 1 << 18, 1 << 14
_MS_NOTHING = 1 | 2 | 4 | 8
"""Read-only, no set-user-id, no devices, no programs."""
_MS_BIND = 1 << 12
_MOUNT_READ_ONLY, _MOUNT_NO_SETUID, _MOUNT_NO_DEVICES = 1, 2, 4
_HARMLESS = b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/random", b"/dev/urandom"
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_SETATTR = 442
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_MEMORY = 2 << 30
REFUSED = 125
"""The exit status if the sandbox cannot be built: the command did not start."""

_LINUX = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    function = getattr(_libc, name, None)
    if function is None or function(*arguments) != 0:
        number = ctypes.get_errno() if function else errno.ENOSYS
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _isolate() -> None:
    """Enter the namespaces. The caller's next child is the first process of its own."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", _NEW)
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - no pathlib: starts faster
            file.write(line)
    _call("mount", None, b"/", None, ctypes.c_ulong(_MS_RECURSIVE | _MS_PRIVATE), None)


def _shut() -> None:
    """As the first process of the namespace: hide other processes, make every mount read-only."""
    # A container may forbid a new /proc; an empty one hides as much.
    try:
        _call("mount", b"proc", b"/proc", b"proc", ctypes.c_ulong(_MS_NOTHING), None)
    except OSError:
        _call("mount", b"none", b"/proc", b"tmpfs", ctypes.c_ulong(_MS_NOTHING), None)
    devices = [device for device in _HARMLESS if os.path.exists(device)]  # noqa: PTH110 - no pathlib: starts faster
    for device in devices:
        _call("mount", device, device, None, ctypes.c_ulong(_MS_BIND), None)
    _attributes(b"/", given=_MOUNT_READ_ONLY | _MOUNT_NO_SETUID | _MOUNT_NO_DEVICES)
    for device in devices:
        _attributes(device, taken=_MOUNT_NO_DEVICES)
    # A command of root would be root of these namespaces as well, and could undo all this. Numbers beyond the last
    # capability are refused.
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 and capability == 0:
            raise OSError(ctypes.get_errno(), "the capabilities cannot be dropped")


def _attributes(place: bytes, *, given: int = 0, taken: int = 0) -> None:
    """Give attributes to every mount from a place downwards, and take others away."""
    wanted = struct.pack("QQQQ", given, taken, 0, 0)
    _call("syscall", _MOUNT_SETATTR, _AT_FDCWD, place, _AT_RECURSIVE, wanted, len(wanted))


def _limit(seconds: int) -> None:
    if _LINUX:
        _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for what, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def run_isolated(mode: str, seconds: str, *command: str) -> int:
    """Run the command, and answer with its exit status."""
    try:
        if mode == "required":
            _isolate()
        child = os.fork()
        if child == 0:
            # If this process is killed, the first process of the namespace dies, and with it all others.
            if _LINUX:
                _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if mode == "required":
                _shut()
            _limit(int(seconds))
            os.execve(command[0], command[1:], dict(os.environ))  # noqa: S606 - no shell is the point
    except OSError as error:
        os.write(2, str(error).encode())
        os._exit(REFUSED)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    code = run_isolated(*sys.argv[1:])
    os._exit(code if code >= 0 else 128 - code)
