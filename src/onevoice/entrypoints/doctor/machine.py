"""The folder for data, the room on its disk, and the address customers' platforms call."""

from __future__ import annotations

import os
import shutil
import stat
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from onevoice.entrypoints.doctor.finding import Finding, fault, ok, warning
from onevoice.settings import Settings

_FREE_BYTES_MIN = 200 * 1024**2
_FREE_BYTES_GOOD = 1024**3


def check_data_dir(settings: Settings) -> Finding:
    """It holds the database and generated keys, so nobody else may look inside."""
    folder = settings.database.data_dir.expanduser()
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        return _check_future_folder(folder)
    except OSError as error:
        return fault("data_dir", f"{folder} cannot be looked at ({error.strerror})", "check its rights")
    if not stat.S_ISDIR(mode):
        return fault("data_dir", f"{folder} is no folder", "name another with database.data_dir")
    if not os.access(folder, os.W_OK | os.X_OK):
        return fault("data_dir", f"{folder} is not writable for this user", "change its owner or its rights")
    # The group's right to pass is no fault: with an access list, it stands for the database's own user.
    if mode & 0o067:
        return warning(
            "data_dir", f"{folder} is open to other users of this machine", f"run: chmod 700 {folder}"
        )
    return ok("data_dir", f"{folder} is private")


def _check_future_folder(folder: Path) -> Finding:
    parent = existing_parent(folder)
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return ok("data_dir", f"{folder} is not there yet and can be made")
    return fault(
        "data_dir",
        f"{folder} cannot be made in {parent}",
        "name another with database.data_dir, or change rights",
    )


def existing_parent(path: Path) -> Path:
    """The nearest folder above that is there."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def check_disk(settings: Settings) -> Finding:
    """A full disk stops every commit."""
    free = shutil.disk_usage(existing_parent(settings.database.data_dir.expanduser())).free
    room = f"{free / 1024**3:.1f} GiB free for data_dir"
    if free < _FREE_BYTES_MIN:
        return fault("disk", room, "make room: a full disk stops every commit")
    if free < _FREE_BYTES_GOOD:
        return warning("disk", room, "make room soon: a full disk stops every commit")
    return ok("disk", room)


def check_public_url(settings: Settings) -> Finding:
    """Platforms call https addresses only."""
    url = settings.server.public_url
    called_from_outside = any(channel.kind != "webchat" for channel in settings.channels)
    if not url:
        if called_from_outside:
            return warning(
                "public_url",
                "is empty, and a platform must reach this server",
                "set server.public_url to its https://",
            )
        return ok("public_url", "is empty; no channel is called from outside")
    parts = urlsplit(url)
    if parts.scheme == "https":
        return ok("public_url", url)
    if is_loopback(parts.hostname or ""):
        return ok("public_url", f"{url} is for this machine alone")
    return fault("public_url", f"{url} is not encrypted", "put a TLS proxy in front and write https://")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
