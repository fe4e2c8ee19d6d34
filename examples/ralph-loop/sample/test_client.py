"""What the client has to do."""

import socket
import threading
import time
import unittest

from client import Client


class Reading(unittest.TestCase):
    def test_an_answer_that_comes_in_two_pieces_is_whole(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:

            def send() -> None:
                theirs.sendall(b"one half, ")
                time.sleep(0.05)
                theirs.sendall(b"the other half")
                theirs.shutdown(socket.SHUT_WR)

            sender = threading.Thread(target=send)
            sender.start()
            answer = Client(ours).read()
            sender.join()
        self.assertEqual(answer, "one half, the other half")


if __name__ == "__main__":
    unittest.main()
