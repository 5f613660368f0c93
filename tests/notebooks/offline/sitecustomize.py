"""Python without a network: what would leave this machine fails, and is written to the file `NETWORK_LOG`.

Python imports this module when it starts, in every process whose PYTHONPATH has this folder.
"""

from __future__ import annotations

import os
import sys
from typing import Any

ADDRESSES = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}
"""events of sockets, and which of their arguments is the address"""


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ADDRESSES:
        return
    address = arguments[ADDRESSES[event]]
    host = address[0] if isinstance(address, tuple) else address if event.startswith("socket.get") else None
    if host is None or is_this_machine(host):  # an address without a host is a file
        return
    with open(os.environ["NETWORK_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{event} {host}\n")
    raise OSError(f"there is no network here: {event} {host}")


def is_this_machine(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    return name in ("", "localhost", "::1") or name.startswith("127.")


sys.addaudithook(refuse)
