"""A client that reads what a peer sends. It has a defect for agents to mend."""

import socket

TIMEOUT_S = 1


class Client:
    """Reads from one peer."""

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        peer.settimeout(TIMEOUT_S)

    def read(self) -> str:
        """All that the peer sends."""
        return self.peer.recv(1024).decode()
