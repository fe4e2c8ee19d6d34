/** A real server for the tests, of the binary that SILLOK_BIN names. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, mkdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../src/index.js";

const START_MS_MAX = 30_000;

let numbers = 0;

/** The scope of a task in a project that no other test has. */
export function newTask(): { project: string; task: string } {
  numbers += 1;
  const project = `org/tests/project/t${numbers}`;
  return { project, task: `${project}/worktree/main/task/1` };
}

/** A `sillok serve` over a data directory, which may be stopped and started again. */
export class Server {
  #process: ChildProcess | undefined;
  #address = "127.0.0.1:0";

  private constructor(private readonly folder: string) {}

  /** One over an empty data directory. */
  static async start(): Promise<Server> {
    const server = new Server(await mkdtemp(join(tmpdir(), "sillok-")));
    await mkdir(server.#data, { mode: 0o700 });
    await server.startAgain();
    return server;
  }

  get #data(): string {
    return join(this.folder, "data");
  }

  /** Starts it on the port that it had, and waits until it serves. */
  async startAgain(): Promise<void> {
    await rm(join(this.#data, "server.json"), { force: true });
    const { SILLOK_BIN: bin, PATH } = process.env;
    if (bin === undefined) {
      throw new Error("SILLOK_BIN names no binary");
    }
    const args = ["serve", "--data", this.#data, "--address", this.#address];
    const child = spawn(bin, args, { stdio: "ignore", env: { PATH, HOME: this.folder } });
    this.#process = child;
    for (const ends = Date.now() + START_MS_MAX; Date.now() < ends; await sleep(20)) {
      if (child.exitCode !== null) {
        throw new Error(`the server ended with ${child.exitCode}`);
      }
      try {
        this.#address = JSON.parse(await readFile(join(this.#data, "server.json"), "utf8")).address;
        return;
      } catch {
        // It is not there yet, or not whole.
      }
    }
    throw new Error("the server did not start");
  }

  /** Ends it at once, as a crash would. */
  async stop(): Promise<void> {
    if (this.#process?.exitCode === null && this.#process.kill("SIGKILL")) {
      await once(this.#process, "exit");
    }
  }

  /** Ends it, and removes what it held. */
  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** With the administrator's token. */
  async client(): Promise<Client> {
    const token = (await readFile(join(this.#data, "admin.token"), "utf8")).trim();
    return new Client({ url: `http://${this.#address}`, token });
  }
}
