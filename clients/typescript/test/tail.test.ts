/** Event streams, from any pieces. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type StreamEvent, events } from "../src/tail.js";

test("events are put together from any pieces", async () => {
  const text =
    ': heartbeat\n\nid: t1\ndata: {"a":\ndata: "é"}\r\n\n: heartbeat\nid: t2\n\nevent: x\ndata:b\n\ndata: rest';
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size < bytes.length; size += 1) {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) {
          controller.enqueue(bytes.slice(at, at + size));
        }
        controller.close();
      },
    });
    const found: StreamEvent[] = [];
    for await (const event of events(stream)) {
      found.push(event);
    }
    const heartbeat = { name: "", id: "", data: "" };
    assert.deepEqual(found, [
      heartbeat,
      { name: "", id: "t1", data: '{"a":\n"é"}' },
      { name: "", id: "t2", data: "" },
      { name: "x", id: "", data: "b" },
    ]);
  }
});
