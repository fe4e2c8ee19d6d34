/**
 * Requests on their way: sent again while that can help, and refusals as what is thrown.
 *
 * Owns retries and the bound on the time of an answer. It must not know what a request is for.
 */

import type { Problem } from "./document.js";
import { Passing, Refused, type SillokError, Unreachable, refused } from "./errors.js";

/** How often, and after what delays, a call is sent again. */
export interface Retry {
  /** Attempts in all, the first one included. */
  attemptsMax: number;
  /** Delay before the second attempt; doubled for each further one. */
  delayMsFirst: number;
  /** Longest delay, also where the server asks for a longer one. */
  delayMsMax: number;
}

export const retryUsual: Retry = { attemptsMax: 7, delayMsFirst: 100, delayMsMax: 3_000 };

/** The delay behind the attempt with this number, from 1, spread so that not all who failed at once come back at once. */
export function delayMs(retry: Retry, attempt: number, error?: SillokError): number {
  const asked = error instanceof Refused ? (error.problem.retry_after_ms ?? 0) : 0;
  const whole = Math.min(retry.delayMsFirst * 2 ** Math.min(attempt - 1, 20), retry.delayMsMax);
  return Math.max(whole * (0.5 + Math.random() / 2), Math.min(asked, retry.delayMsMax));
}

/** Waits, or ends at once with the reason of `signal`. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const given = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", given);
      resolve();
    }, ms);
    signal?.addEventListener("abort", given, { once: true });
  });
}

/** Whether the same request, sent again, may end otherwise. */
export function canHelp(error: unknown): error is SillokError {
  return error instanceof Passing || error instanceof Unreachable;
}

/** Sends once, and throws what the server refuses. The answer begins within `timeoutMs`, or the server is unreachable. */
export async function sendOnce(request: Request, timeoutMs: number): Promise<Response> {
  const late = new AbortController();
  // Of the body too, which is read later.
  request.signal.addEventListener("abort", () => late.abort(request.signal.reason), { once: true });
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    const response = await fetch(request, { signal: late.signal });
    if (response.ok) {
      return response;
    }
    throw await refusal(response);
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof Refused || error instanceof Unreachable) {
      throw error;
    }
    throw new Unreachable(`${new URL(request.url).origin} does not answer: ${reason(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Sends until the answer is final or the attempts are used up. Each attempt is the same request, under the same command id. */
export async function send(request: Request, retry: Retry, timeoutMs: number): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await sendOnce(request.clone(), timeoutMs);
      return isWhole(response) ? await whole(response) : response;
    } catch (error) {
      if (attempt >= retry.attemptsMax || !canHelp(error)) {
        throw error;
      }
      await pause(delayMs(retry, attempt, error), request.signal);
    }
  }
}

/** Whether an answer is read here, so that one that is cut off is asked for again. */
function isWhole(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("application/json") ?? false;
}

async function whole(response: Response): Promise<Response> {
  const { status, headers } = response;
  try {
    return new Response(await response.text(), { status, headers });
  } catch (error) {
    throw new Unreachable(`the answer was cut off: ${reason(error)}`, { cause: error });
  }
}

async function refusal(response: Response): Promise<SillokError> {
  const text = await response.text();
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null && "code" in problem) {
      return refused(problem as Problem);
    }
  } catch {
    // It is said below.
  }
  return new Unreachable(`${response.url} answered with ${response.status}, and not as Sillok does`);
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
