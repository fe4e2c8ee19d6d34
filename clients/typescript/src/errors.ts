/**
 * Refusals of the server: one class for each code of the closed set, so that a caller catches what it can act on.
 *
 * Owns the classes. It must not know how a refusal arrives.
 */

import type { ErrorCode, Problem } from "./document.js";

/** What kept a call from being carried out. */
export class SillokError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/**
 * The server did not answer, or what answered is no Sillok. A write may have been carried out all the same: the same
 * command id, sent again, is given its answer.
 */
export class Unreachable extends SillokError {}

/** The server's refusal. */
export class Refused extends SillokError {
  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail} (${problem.advice})`);
  }

  /** The kind of refusal. */
  get code(): ErrorCode {
    return this.problem.code;
  }
}

/** The form of the request, or what it says, is wrong. Nothing was written. */
export class Invalid extends Refused {}
/** A scope has the wrong form, or the wrong level. */
export class InvalidScope extends Invalid {}
/** An id has the wrong form or version. */
export class InvalidId extends Invalid {}
/** A field's value is not one that the command takes. */
export class InvalidArgument extends Invalid {}
/** The request is not well-formed. */
export class InvalidRequest extends Invalid {}
/** The content is no UTF-8 text. */
export class InvalidContent extends Invalid {}
/** A promotion would not go strictly upward. */
export class InvalidPromotion extends Invalid {}
/** A supersession would make a cycle, cross scopes, or join an entry to itself. */
export class InvalidSupersession extends Invalid {}
/** The task's status does not allow it. */
export class InvalidState extends Refused {}
/** A size or a count is over its limit, which `problem.limit` names. */
export class TooLarge extends Refused {}
/** The write needs a citation. */
export class CitationRequired extends Refused {}
/** A citation names something that is not there, or proves nothing. */
export class UnresolvableCitation extends Refused {}
/** No valid token came with the request. */
export class Unauthenticated extends Refused {}
/** The token may not do this here; `problem.rule` names the rule. */
export class Forbidden extends Refused {}
/** It is not there, or the token does not see it. */
export class NotFound extends Refused {}
/** The write expected another version than the current one, which `problem.current` tells. */
export class Conflict extends Refused {}
/** The command id was used before, with another body. */
export class CommandReused extends Refused {}
/** The command id is older than the log of answered commands. */
export class Expired extends Refused {}
/** The cursor is of another history: the store was restored since. Read again from the start. */
export class HistoryChanged extends Refused {}
/**
 * It says nothing of the command: sent again, the same one may go well. The client does so by itself, and throws this once
 * it gives up.
 */
export class Passing extends Refused {}
/** This node no longer owns the scope. */
export class Fenced extends Passing {}
/** Too much is under way. */
export class Busy extends Passing {}
/** A quota of the organisation is used up. */
export class QuotaExceeded extends Passing {}
/** A part that the command needs cannot be reached. */
export class Unavailable extends Passing {}
/** Nobody knows whether the command was carried out. Sent again under its id, it is given its answer. */
export class OutcomeUnknown extends Passing {}
/** A defect of the server. Nothing was written. */
export class Internal extends Refused {}

/** The class of each code. That none is missing is for the compiler to say. */
export const byCode: Record<ErrorCode, new (problem: Problem) => Refused> = {
  invalid_scope: InvalidScope,
  invalid_id: InvalidId,
  invalid_argument: InvalidArgument,
  invalid_request: InvalidRequest,
  invalid_content: InvalidContent,
  invalid_promotion: InvalidPromotion,
  invalid_supersession: InvalidSupersession,
  invalid_state: InvalidState,
  too_large: TooLarge,
  citation_required: CitationRequired,
  unresolvable_citation: UnresolvableCitation,
  unauthenticated: Unauthenticated,
  forbidden: Forbidden,
  not_found: NotFound,
  conflict: Conflict,
  command_reused: CommandReused,
  expired: Expired,
  history_changed: HistoryChanged,
  fenced: Fenced,
  busy: Busy,
  quota_exceeded: QuotaExceeded,
  unavailable: Unavailable,
  outcome_unknown: OutcomeUnknown,
  internal: Internal,
};

/** A problem as what is thrown. A code that a newer server knows is `Refused` itself. */
export function refused(problem: Problem): Refused {
  return new (byCode[problem.code] ?? Refused)(problem);
}
