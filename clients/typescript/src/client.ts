/**
 * The client: calls that are typed by the server's OpenAPI document.
 *
 * Owns the token, command ids and the taking up of a tail. It must not know what an operation is for: paths, bodies and
 * answers are `document.ts`, which is written out of the document.
 */

import createFetch, { type Client as Fetch } from "openapi-fetch";
import type { PathsWithMethod } from "openapi-typescript-helpers";
import { newCommandId } from "./command.js";
import type { Problem, TailItem, paths } from "./document.js";
import { type SillokError, Unreachable, refused } from "./errors.js";
import { type Retry, canHelp, delayMs, pause, retryUsual, send, sendOnce } from "./sending.js";
import { events } from "./tail.js";

type Post = PathsWithMethod<paths, "post">;
type Get = Exclude<PathsWithMethod<paths, "get">, "/v1/tail">;

/** What a path is sent. */
export type Body<P extends Post> = paths[P]["post"] extends {
  requestBody: { content: { "application/json": infer T } };
}
  ? T
  : never;

/** What a path is asked by. */
export type Query<P extends keyof paths> = paths[P]["get"] extends { parameters: { query?: infer T } }
  ? T
  : undefined;

/** What a path answers. */
export type Answer<P extends keyof paths, M extends "get" | "post"> = paths[P][M] extends {
  responses: { 200: { content: infer T } };
}
  ? T extends { "application/json": infer J }
    ? J
    : T extends { "application/octet-stream": unknown }
      ? ReadableStream<Uint8Array>
      : string
  : never;

export interface Options {
  /** The server's address, such as `http://127.0.0.1:7411`. */
  url: string;
  token?: string;
  retry?: Partial<Retry>;
  /** How long the server may take to answer, in ms: longer than it waits for a promotion. */
  timeoutMs?: number;
}

export interface Sent {
  /** The id of the command; a new one when absent. The same id with the same body is carried out once. */
  commandId?: string;
  signal?: AbortSignal;
}

/**
 * Speaks to one server with one token. A refusal is thrown as its class of `errors.ts`. A write carries a command id, and
 * each of its attempts the same.
 */
export class Client {
  /** What `get` and `post` go through: the same calls as openapi-fetch has them. */
  readonly http: Fetch<paths>;
  readonly #retry: Retry;
  readonly #timeoutMs: number;

  constructor(private readonly options: Options) {
    this.#retry = { ...retryUsual, ...options.retry };
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.http = createFetch<paths>({
      baseUrl: options.url.replace(/\/$/, ""),
      headers: this.#headers(),
      fetch: (request) => send(request, this.#retry, this.#timeoutMs),
    });
    this.http.use({
      onRequest: ({ request }) => {
        // A read that has a body takes no notice of it.
        if (request.method === "POST" && !request.headers.has("idempotency-key")) {
          request.headers.set("idempotency-key", newCommandId());
        }
      },
    });
  }

  /** The same server with another token. */
  withToken(token: string): Client {
    return new Client({ ...this.options, token });
  }

  /** Asks by a query. */
  async get<P extends Get>(
    path: P,
    ...[query, sent]: Query<P> extends undefined
      ? [undefined?, Sent?]
      : Partial<Query<P>> extends Query<P>
        ? [Query<P>?, Sent?]
        : [Query<P>, Sent?]
  ): Promise<Answer<P, "get">> {
    const init = { params: { query }, parseAs: "stream", ...signalled(sent) };
    const { response } = await this.http.GET(path, init as never);
    return answerOf(response) as Promise<Answer<P, "get">>;
  }

  /** Writes, or asks by what needs a body. */
  async post<P extends Post>(path: P, body: Body<P>, sent?: Sent): Promise<Answer<P, "post">> {
    const headers = sent?.commandId === undefined ? {} : { "idempotency-key": sent.commandId };
    const init = { body, headers, parseAs: "stream", ...signalled(sent) };
    const { response } = await this.http.POST(path, init as never);
    return answerOf(response) as Promise<Answer<P, "post">>;
  }

  /**
   * The events that are asked for, for ever. A lost connection is taken up again behind the last event, and so is a stream
   * that the server ends with a refusal that passes; how often in a row that may fail is bounded as for any call.
   */
  async *tail(query: Query<"/v1/tail">, sent?: Pick<Sent, "signal">): AsyncGenerator<TailItem, never> {
    const asked = { ...query };
    let failures = 0;
    for (;;) {
      let failure: SillokError | undefined;
      try {
        for await (const item of this.#tailOnce(asked, sent?.signal)) {
          failures = 0;
          if (item !== undefined) {
            yield item;
          }
        }
      } catch (error) {
        failures += 1;
        if (failures >= this.#retry.attemptsMax || !canHelp(error)) {
          throw error;
        }
        failure = error;
      }
      await pause(delayMs(this.#retry, Math.max(failures, 1), failure), sent?.signal);
    }
  }

  /** The events of one connection, behind the cursor of `asked`, which goes along with them. */
  async *#tailOnce(asked: Query<"/v1/tail">, signal?: AbortSignal): AsyncGenerator<TailItem | undefined> {
    const url = new URL(`${this.options.url.replace(/\/$/, "")}/v1/tail`);
    for (const [name, value] of Object.entries(asked)) {
      url.searchParams.set(name, String(value));
    }
    const request = new Request(url, { headers: this.#headers(), ...(signal ? { signal } : {}) });
    const response = await sendOnce(request, this.#timeoutMs);
    try {
      for await (const event of events(response.body ?? new ReadableStream())) {
        if (event.name === "error") {
          throw refused(JSON.parse(event.data) as Problem);
        }
        // One that has an id alone says that nothing that is asked for lies before it, and a heartbeat has nothing.
        if (event.id !== "") {
          asked.cursor = event.id;
        }
        yield event.data === "" ? undefined : (JSON.parse(event.data) as TailItem);
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof TypeError ? new Unreachable("the stream was cut off", { cause: error }) : error;
    }
  }

  #headers(): Record<string, string> {
    return this.options.token === undefined ? {} : { authorization: `Bearer ${this.options.token}` };
  }
}

function signalled(sent?: Sent): { signal?: AbortSignal } {
  return sent?.signal === undefined ? {} : { signal: sent.signal };
}

/** What an answer holds, by its media type. */
function answerOf(response: Response): Promise<unknown> {
  const media = response.headers.get("content-type") ?? "";
  if (media.startsWith("application/json")) {
    return response.json();
  }
  return media.startsWith("application/octet-stream") ? Promise.resolve(response.body) : response.text();
}
