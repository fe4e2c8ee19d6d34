/** The client against the real server: calls, command ids, refusals, tails, and a server that is away. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, Unreachable, errors, newCommandId } from "../src/index.js";
import { Server, newTask } from "./server.js";

let server: Server;
let admin: Client;

before(async () => {
  server = await Server.start();
  admin = await server.client();
});

after(() => server.remove());

const opened = (client: Client, scope: string) => client.post("/v1/tasks", { scope, title: "Carts are off by one" });

test("what is verified is recalled", async () => {
  const { task: scope } = newTask();
  await opened(admin, scope);
  const content = "edit src/cart.sh: replace 'i < n' by 'i <= n'";
  await admin.post("/v1/logs", { scope, records: [{ level: "tool", content }] });
  const recorded = await admin.post("/v1/verifications", { scope, outcome: "passed", source: "tests_passed", run: "1" });
  const asked = { scope, verification: recorded.verification, wait_ms: 20_000 };
  assert.equal((await admin.get("/v1/promotions", asked)).state, "done");
  const found = await admin.post("/v1/recall", { scope, query: "which file was edited for the cart" });
  assert.ok(found.results.some((result) => result.content === "The file src/cart.sh was edited."));
});

test("a write that is sent again is carried out once", async () => {
  const { task: scope } = newTask();
  await opened(admin, scope);
  const body = { scope, records: [{ level: "info" as const, content: "once" }] };
  const commandId = newCommandId();
  const first = await admin.post("/v1/logs", body, { commandId });
  assert.deepEqual(await admin.post("/v1/logs", body, { commandId }), first);
  const { items } = await admin.get("/v1/records", { scope });
  assert.deepEqual(items.map((record) => record.content), ["once"]);
  const other = { scope, records: [{ level: "info" as const, content: "twice" }] };
  await assert.rejects(admin.post("/v1/logs", other, { commandId }), errors.CommandReused);
});

test("command ids are of version 7 and rise with the time", async () => {
  const ids = [newCommandId()];
  for (let n = 0; n < 3; n += 1) {
    await sleep(2);
    ids.push(newCommandId());
  }
  assert.ok(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)));
  assert.deepEqual(ids, [...ids].sort());
  const ms = Number.parseInt(newCommandId().replace("-", "").slice(0, 12), 16);
  assert.ok(Math.abs(ms - Date.now()) < 1_000);
});

test("each refusal is thrown as the class of its code", async () => {
  const { task: scope } = newTask();
  await opened(admin, scope);
  const minted = await admin.post("/v1/tokens", { kind: "agent", id: "a", scope, lifetime_s: 60 });
  const agent = admin.withToken(minted.token);
  const verification = { scope, outcome: "passed", source: "tests_passed", run: "1" } as const;
  await assert.rejects(agent.post("/v1/verifications", verification), (error) => {
    assert.ok(error instanceof errors.Forbidden);
    assert.equal(error.problem.rule, "control/record_verification");
    return error.name === "Forbidden";
  });
  await assert.rejects(admin.get("/v1/task", { scope: `${scope}0` }), errors.NotFound);
  await assert.rejects(admin.get("/v1/task", { scope: "nowhere" }), errors.InvalidScope);
  await assert.rejects(admin.withToken("none").get("/v1/status"), errors.Unauthenticated);
  const saved = await admin.post("/v1/decisions", { scope, title: "Whole cents", content: "No floats." });
  const text = { title: "Cents", content: "No floats at all.", reason: "short", rank: "normal", domain: "global" } as const;
  const stale = admin.post("/v1/decisions", { scope, root: saved.root, expected_version: 9, ...text });
  await assert.rejects(stale, (error) => error instanceof errors.Conflict && error.problem.current?.version === 1);
});

test("a tail tells what happens and is taken up behind its cursor", async () => {
  const { project, task: scope } = newTask();
  await opened(admin, scope);
  const tail = admin.tail({ scope: project });
  const first = await tail.next();
  assert.equal(first.value.event.kind, "TASK_OPENED");
  const next = tail.next();
  await sleep(200);
  await admin.post("/v1/logs", { scope, records: [{ level: "info", content: "heard" }] });
  assert.equal((await next).value.event.kind, "RECORD_APPENDED");
  await tail.return(undefined as never);
  const behind = admin.tail({ scope: project, cursor: first.value.cursor });
  assert.equal((await behind.next()).value.event.kind, "RECORD_APPENDED");
  await behind.return(undefined as never);
  await assert.rejects(admin.tail({ scope: project, cursor: "none" }).next(), errors.Invalid);
});

test("a tail ends when its signal says so", async () => {
  const { project, task: scope } = newTask();
  await opened(admin, scope);
  const controller = new AbortController();
  const tail = admin.tail({ scope: project }, { signal: controller.signal });
  await tail.next();
  const waiting = tail.next();
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

test("plain texts and bytes are read", async () => {
  assert.match(await admin.get("/metrics"), /sillok_/);
  let bytes = 0;
  for await (const piece of await admin.get("/v1/backup")) {
    bytes += piece.length;
  }
  assert.ok(bytes > 1_000);
});

test("a call outlasts a restart, and a tail goes on behind it", async () => {
  const { project, task: scope } = newTask();
  await opened(admin, scope);
  const tail = admin.tail({ scope: project });
  await tail.next();
  await server.stop();
  const written = admin.post("/v1/logs", { scope, records: [{ level: "info", content: "after the restart" }] });
  await sleep(300);
  await server.startAgain();
  await written;
  assert.equal((await tail.next()).value.event.kind, "RECORD_APPENDED");
  await tail.return(undefined as never);
  assert.equal((await admin.get("/v1/records", { scope })).items.length, 1);
});

test("a server that is away is unreachable after all attempts", async () => {
  const begun = Date.now();
  const retry = { attemptsMax: 3, delayMsFirst: 20 };
  await assert.rejects(new Client({ url: "http://127.0.0.1:9", retry }).get("/livez"), Unreachable);
  // Two delays, 20 and 40 ms, each at least by half; timers may be early by one.
  assert.ok(Date.now() - begun >= 28);
});
