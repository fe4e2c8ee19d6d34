/**
 * Event streams: the text of server-sent events as events.
 *
 * Owns their form. It must not know what an event tells, nor how a connection is made.
 */

/** One event of a stream. */
export interface StreamEvent {
  /** What sort of event; empty when the stream does not say. */
  name: string;
  /** Where the stream goes on behind it; empty when it does not say. */
  id: string;
  /** What it tells; empty when it only has an id, or is a heartbeat. */
  data: string;
}

/** Characters of one event. An event holds at most a record, escaped as JSON, with its surroundings. */
const EVENT_CHARS_MAX = 64 << 20;

/** The events of a stream, as far as it is whole. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let event = empty();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      text += decoder.decode(value, { stream: true });
      if (text.length + event.data.length > EVENT_CHARS_MAX) {
        throw new RangeError("an event is larger than any event can be");
      }
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines.map((line) => line.replace(/\r$/, ""))) {
        if (line !== "") {
          take(event, line);
          continue;
        }
        yield event;
        event = empty();
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function empty(): StreamEvent {
  return { name: "", id: "", data: "" };
}

function take(event: StreamEvent, line: string): void {
  const colon = line.indexOf(":");
  const value = line.slice(colon + 1).replace(/^ /, "");
  switch (line.slice(0, Math.max(colon, 0))) {
    case "event":
      event.name = value;
      break;
    case "id":
      event.id = value;
      break;
    case "data":
      event.data += (event.data === "" ? "" : "\n") + value;
      break;
    default:
    // Comments.
  }
}
