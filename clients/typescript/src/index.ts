/**
 * A client of Sillok, the governed memory of parallel coding agents.
 *
 *     import { Client } from "sillok-client";
 *     const memory = new Client({ url: "http://127.0.0.1:7411", token });
 *     await memory.post("/v1/tasks", { scope: "org/acme/project/api/worktree/main/task/42", title: "Carts are off by one" });
 */

export { Client, type Answer, type Body, type Options, type Query, type Sent } from "./client.js";
export { newCommandId } from "./command.js";
export type * from "./document.js";
export * as errors from "./errors.js";
export { Refused, SillokError, Unreachable } from "./errors.js";
export type { Retry } from "./sending.js";
