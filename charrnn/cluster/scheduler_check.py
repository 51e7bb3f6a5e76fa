"""Who answers at an address, before anything is believed.

Dask's own client waits for ever for the greeting of something that is no scheduler, and fails in a
dozen ways where versions or certificates differ. So somebody knocks first, and has no patience.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, Final

from charrnn.errors import SettingError

PATIENCE: Final = 3.0  # seconds
SCHEMES: Final = ("tcp", "tls", "ws", "wss", "ucx")


def address_of(scheduler: str) -> str:
    """The address of a scheduler, or what stands in the file that it wrote."""
    if "://" in scheduler:
        return scheduler
    host, _, port = scheduler.rpartition(":")
    if host and port.isdigit() and not os.path.exists(scheduler):
        return f"tcp://{scheduler}"
    try:
        with open(scheduler, encoding="utf-8") as file:
            address = json.load(file)["address"]
    except OSError as error:
        raise SettingError(
            f"{scheduler or 'nothing'} is neither the address of a scheduler nor its file:"
            f" {error.strerror}",
            "An address looks like tcp://HOST:PORT; a file is what the scheduler wrote.",
        ) from None
    except (ValueError, KeyError, TypeError):
        raise SettingError(
            f"{scheduler} is not the file of a scheduler",
            "Name the one that it wrote, or its address.",
        ) from None
    return str(address)


def check(address: str) -> None:
    """SettingError unless a scheduler of our version of Dask answers there, and soon."""
    from importlib.metadata import version

    from distributed.comm.core import CommClosedError

    mine = version("distributed")

    if address.partition("://")[0] not in SCHEMES:
        raise SettingError(f"{address} is not an address", "It looks like tcp://HOST:PORT.")
    try:
        found = asyncio.run(asyncio.wait_for(_asked(address), PATIENCE))
    except CommClosedError:
        raise SettingError(
            f"{address} hangs up on us, as a scheduler does that wants TLS",
            f"Does it? Then its address begins with tls://. {CERTIFICATES}",
        ) from None
    except TimeoutError:
        raise SettingError(
            f"no scheduler of Dask answers at {address}",
            "Look whether it is one, and can be reached from here.",
        ) from None
    except OSError as error:
        raise _unreachable(address, error) from None
    except Exception as error:  # what is no scheduler may answer anything
        raise _unlike(address, error) from None
    kind, its = found
    if kind != "Scheduler":
        raise SettingError(
            f"{address} is no scheduler of Dask, but a {kind}",
            "Name the address that dask scheduler tells.",
        )
    if its != mine:
        raise SettingError(
            f"the scheduler at {address} has Dask {its}, and here is {mine}",
            f"Install the same on all machines: pip install 'distributed=={its}'",
        )


CERTIFICATES: Final = (
    "Name the certificates to Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, __CLIENT__CERT and"
    " __CLIENT__KEY."
)


async def _asked(address: str) -> tuple[str, str]:
    """What answers there, and its version of Dask."""
    from distributed.comm.core import connect
    from distributed.core import send_recv
    from distributed.security import Security

    how = Security().get_connection_args("client")
    comm = await connect(address, timeout=0.8 * PATIENCE, **how)
    try:
        who: Any = await send_recv(comm, op="identity")
        versions: Any = await send_recv(comm, op="versions")
    finally:
        comm.abort()
    return str(who["type"]), str(versions["packages"]["distributed"])


def _unreachable(address: str, error: OSError) -> SettingError:
    """What to say where nobody could be spoken to."""
    import ssl

    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(error, FileNotFoundError) or isinstance(cause, ssl.SSLError):
        return SettingError(f"no TLS with {address}: {cause}", CERTIFICATES)
    return SettingError(
        f"no scheduler of Dask answers at {address}: {cause}",
        "Start one with dask scheduler, or name another.",
    )


def _unlike(address: str, error: Exception) -> SettingError:
    """What to say of an answer that makes no sense."""
    if address.startswith(("tls", "wss")) and "ssl" in str(error).lower():
        return SettingError(f"there are no certificates to speak TLS with {address}", CERTIFICATES)
    return SettingError(
        f"what answers at {address} is no scheduler of Dask",
        "Name the address that dask scheduler tells.",
    )
