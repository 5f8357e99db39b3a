"""Under which system user the server runs, and what that user may reach.

PostgreSQL refuses to run as root. Started by root, the server gets a user of its own, which must pass through
the parents of its folders. It gets exactly that, by an access list for it alone: opening a private parent to
everybody would make every readable file inside reachable, a configuration with secrets among them.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from onevoice.errors import EmbeddedServerFailed

_USER_NAME = "onevoice-postgres"
_ACL = "system.posix_acl_access"
_ACL_VERSION = 2
_ACL_NO_ID = 0xFFFFFFFF
_USER_OBJECT, _USER, _GROUP_OBJECT, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
_PASS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemUser:
    """A user of this machine, by number."""

    uid: int
    gid: int


def choose_system_user(cluster: Path) -> SystemUser | None:
    """None means: the user of this process. As root, the owner of the cluster or of its data_dir.

    Where root owns both, the server gets a user of its own.
    """
    if os.geteuid() != 0:
        return None
    owner = (cluster if cluster.exists() else cluster.parent).stat()
    if owner.st_uid != 0:
        return SystemUser(uid=owner.st_uid, gid=owner.st_gid)
    try:
        entry = pwd.getpwnam(_USER_NAME)
    except KeyError:
        _create_system_user()
        entry = pwd.getpwnam(_USER_NAME)
    return SystemUser(uid=entry.pw_uid, gid=entry.pw_gid)


def make_private(folder: Path) -> None:
    """Take away what others could do in a folder of ours."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    # With an access list the group's bits are its mask: taking them away would undo the list.
    unwanted = 0o007 if _read_list(folder) else 0o077
    if mode & unwanted:
        folder.chmod(mode & ~unwanted)


def let_pass(user: SystemUser, folder: Path) -> None:
    """Let the user reach the folder: through it and each of its parents, without reading any of them."""
    for place in [folder, *folder.parents]:
        status = place.stat()
        if status.st_mode & (stat.S_IXUSR if status.st_uid == user.uid else stat.S_IXOTH):
            continue
        try:
            _add_to_list(place, user.uid, permission=_PASS)
        except OSError as error:
            raise EmbeddedServerFailed(
                f"PostgreSQL does not run as root, and its own user may not pass through {place} "
                f"({error.strerror}); start onevoice as a normal user, or choose another data_dir"
            ) from None


def let_read(user: SystemUser, folder: Path) -> None:
    """Let the server's user read and run the programs of the wheel, which hold no secret."""
    let_pass(user, folder)
    if (folder / "bin" / "postgres").stat().st_mode & 0o005 == 0o005:
        return
    for place in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(place.lstat().st_mode)
        wanted = mode | 0o044 | (0o011 if mode & 0o100 else 0)
        if not place.is_symlink() and wanted != mode:
            place.chmod(wanted)


def _create_system_user() -> None:
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise EmbeddedServerFailed(
            "PostgreSQL does not run as root, and no useradd is here to make a user for it; start "
            f"onevoice as a normal user, or make the user {_USER_NAME}"
        )
    done = subprocess.run(  # noqa: S603 - A fixed program with fixed arguments.
        [
            program,
            "--system",
            "--user-group",
            "--no-create-home",
            "--home-dir",
            "/nonexistent",
            "--shell",
            "/usr/sbin/nologin",
            _USER_NAME,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    # Code 9: another process has made it in the meantime.
    if done.returncode not in {0, 9}:
        raise EmbeddedServerFailed(
            f"PostgreSQL does not run as root, and the user {_USER_NAME} cannot be made for it: "
            f"{done.stderr.strip()}"
        )


def _add_to_list(place: Path, uid: int, *, permission: int) -> None:
    mode = place.stat().st_mode
    entries = _read_list(place) or [
        (_USER_OBJECT, mode >> 6 & 7, _ACL_NO_ID),
        (_GROUP_OBJECT, mode >> 3 & 7, _ACL_NO_ID),
        (_MASK, mode >> 3 & 7, _ACL_NO_ID),
        (_OTHER, mode & 7, _ACL_NO_ID),
    ]
    entries = [entry for entry in entries if (entry[0], entry[2]) != (_USER, uid)]
    entries.append((_USER, permission, uid))
    # The mask must let the new entry through; it bounds the named entries and the group together.
    entries = [(tag, bits | permission if tag == _MASK else bits, id_) for tag, bits, id_ in entries]
    entries.sort(key=lambda entry: (entry[0], entry[2]))
    packed = b"".join(struct.pack("<HHI", *entry) for entry in entries)
    if not hasattr(os, "setxattr"):
        raise OSError(0, "this system has no access lists")
    os.setxattr(place, _ACL, struct.pack("<I", _ACL_VERSION) + packed)


def _read_list(place: Path) -> list[tuple[int, int, int]]:
    if not hasattr(os, "getxattr"):
        return []
    try:
        packed = os.getxattr(place, _ACL)
    except OSError:
        # No list, or a file system without lists.
        return []
    return [(tag, bits, id_) for tag, bits, id_ in struct.iter_unpack("<HHI", packed[4:])]
