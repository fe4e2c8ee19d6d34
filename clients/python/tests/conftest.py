"""A real server for the tests, of the binary that SILLOK_BIN names, and names that no other test has."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sillok import Client

START_S_MAX = 30
_numbers = itertools.count(1)


class Server:
    """A `sillok serve` over a data directory, which may be stopped and started again."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.process: subprocess.Popen[bytes] | None = None
        self.address = "127.0.0.1:0"

    def start(self) -> None:
        """Starts it on a free port, or on the one that it had, and waits until it serves."""
        (self.data / "server.json").unlink(missing_ok=True)
        with (self.data.parent / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [os.environ["SILLOK_BIN"], "serve", "--data", str(self.data), "--address", self.address],
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": str(self.data.parent)},
            )
        ends = time.monotonic() + START_S_MAX
        while time.monotonic() < ends:
            assert self.process.poll() is None, "the server ended; its log lies beside the data directory"
            try:
                said = json.loads((self.data / "server.json").read_text())
            except (FileNotFoundError, ValueError):
                time.sleep(0.02)
                continue
            self.address = said["address"]
            return
        raise TimeoutError("the server did not start")

    def stop(self) -> None:
        """Ends it at once, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def client(self) -> Client:
        """With the administrator's token."""
        return Client(f"http://{self.address}", (self.data / "admin.token").read_text().strip())


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests."""
    served = Server(tmp_path_factory.mktemp("sillok") / "data")
    served.data.mkdir(mode=0o700)
    served.start()
    yield served
    served.stop()


@pytest.fixture
def admin(server: Server) -> Client:
    """A client that may do everything."""
    return server.client()


@pytest.fixture
def task() -> str:
    """The scope of a task in a project that no other test has."""
    return f"org/tests/project/p{next(_numbers)}/worktree/main/task/1"
