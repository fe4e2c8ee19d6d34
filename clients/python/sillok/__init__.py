"""A client of Sillok, the governed memory of parallel coding agents. It needs Python 3.11 and nothing else.

    from sillok import Client
    memory = Client("http://127.0.0.1:7411", token)
    memory.open_task({"scope": "org/acme/project/api/worktree/main/task/42", "title": "Carts are off by one"})

`models` and `operations` are written out of the server's OpenAPI document; `errors` has a class for each code.
"""

from . import errors, models
from .client import Client, Retry, new_command_id
from .errors import Refused, SillokError, Unreachable

__all__ = ["Client", "Refused", "Retry", "SillokError", "Unreachable", "errors", "models", "new_command_id"]
