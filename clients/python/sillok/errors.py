"""Refusals of the server: one class for each code of the closed set, so that a caller catches what it can act on.

Owns the classes. It must not know how a refusal arrives.
"""

from __future__ import annotations

from . import models


class SillokError(Exception):
    """What kept a call from being carried out."""


class Unreachable(SillokError):
    """The server did not answer, or what answered is no Sillok.

    A write may have been carried out all the same: the same command id, sent again, is given its answer.
    """


class Refused(SillokError):
    """The server's refusal."""

    def __init__(self, problem: models.Problem) -> None:
        super().__init__(f"{problem['code']}: {problem['detail']} ({problem['advice']})")
        self.problem = problem

    @property
    def code(self) -> models.ErrorCode:
        """The kind of refusal."""
        return self.problem["code"]

    @property
    def retry_after_ms(self) -> int | None:
        """After how many milliseconds to try again, where the server says so."""
        return self.problem.get("retry_after_ms")


class Invalid(Refused):
    """The form of the request, or what it says, is wrong. Nothing was written."""


class InvalidScope(Invalid):
    """A scope has the wrong form, or the wrong level."""


class InvalidId(Invalid):
    """An id has the wrong form or version."""


class InvalidArgument(Invalid):
    """A field's value is not one that the command takes."""


class InvalidRequest(Invalid):
    """The request is not well-formed."""


class InvalidContent(Invalid):
    """The content is no UTF-8 text."""


class InvalidPromotion(Invalid):
    """A promotion would not go strictly upward."""


class InvalidSupersession(Invalid):
    """A supersession would make a cycle, cross scopes, or join an entry to itself."""


class InvalidState(Refused):
    """The task's status does not allow it."""


class TooLarge(Refused):
    """A size or a count is over its limit, which `problem["limit"]` names."""


class CitationRequired(Refused):
    """The write needs a citation."""


class UnresolvableCitation(Refused):
    """A citation names something that is not there, or proves nothing."""


class Unauthenticated(Refused):
    """No valid token came with the request."""


class Forbidden(Refused):
    """The token may not do this here; `problem["rule"]` names the rule."""


class NotFound(Refused):
    """It is not there, or the token does not see it."""


class Conflict(Refused):
    """The write expected another version than the current one, which `problem["current"]` tells."""


class CommandReused(Refused):
    """The command id was used before, with another body."""


class Expired(Refused):
    """The command id is older than the log of answered commands."""


class HistoryChanged(Refused):
    """The cursor is of another history: the store was restored since. Read again from the start."""


class Passing(Refused):
    """It says nothing of the command: sent again, the same one may go well.

    The client does so by itself, and raises this once it gives up.
    """


class Fenced(Passing):
    """This node no longer owns the scope."""


class Busy(Passing):
    """Too much is under way."""


class QuotaExceeded(Passing):
    """A quota of the organisation is used up."""


class Unavailable(Passing):
    """A part that the command needs cannot be reached."""


class OutcomeUnknown(Passing):
    """Nobody knows whether the command was carried out. Sent again under its id, it is given its answer."""


class Internal(Refused):
    """A defect of the server. Nothing was written."""


BY_CODE: dict[models.ErrorCode, type[Refused]] = {
    "invalid_scope": InvalidScope,
    "invalid_id": InvalidId,
    "invalid_argument": InvalidArgument,
    "invalid_request": InvalidRequest,
    "invalid_content": InvalidContent,
    "invalid_promotion": InvalidPromotion,
    "invalid_supersession": InvalidSupersession,
    "invalid_state": InvalidState,
    "too_large": TooLarge,
    "citation_required": CitationRequired,
    "unresolvable_citation": UnresolvableCitation,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "conflict": Conflict,
    "command_reused": CommandReused,
    "expired": Expired,
    "history_changed": HistoryChanged,
    "fenced": Fenced,
    "busy": Busy,
    "quota_exceeded": QuotaExceeded,
    "unavailable": Unavailable,
    "outcome_unknown": OutcomeUnknown,
    "internal": Internal,
}
"""The class of each code. A code that a newer server knows is `Refused` itself."""


def refused(problem: models.Problem) -> Refused:
    """A problem as what is raised."""
    return BY_CODE.get(problem["code"], Refused)(problem)
