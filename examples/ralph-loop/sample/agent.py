"""Stands for an agent: it has one idea a round, in the order below, where a model would make something of what it is told."""

import json
import pathlib
import sys

FILE = pathlib.Path("client.py")
IDEAS = [
    ("Increase the read timeout", "TIMEOUT_S = 1", "TIMEOUT_S = 5"),
    ("Raise the timeout of Client.read, so that reading may take longer", "TIMEOUT_S = 5", "TIMEOUT_S = 60"),
    (
        "Take pieces until the peer closes the connection",
        "return self.peer.recv(1024).decode()",
        'return b"".join(iter(lambda: self.peer.recv(1024), b"")).decode()',
    ),
]

known = json.load(sys.stdin)
approach, before, after = IDEAS[(known["round"] - 1) % len(IDEAS)]
if known["phase"] == "think":
    print(json.dumps({"approach": approach, "files": [str(FILE)], "symbols": ["Client.read"]}))
else:
    FILE.write_text(FILE.read_text().replace(before, after))
    print(f"edit {FILE}: replace '{before}' by '{after}'")
