#!/usr/bin/env python3
"""A Ralph loop over Sillok: agents try until the tests pass, and none tries what has failed.

    ralph.py --scope TASK --title TEXT --file PATH... --agent COMMAND... --verify COMMAND [--kind KIND] [--rounds N]

An agent is a command. It is run twice a round, in the work tree, with the phase and all that it is to know as JSON on
its standard input: in `think` it answers with `{"approach": ..., "files": [...], "symbols": [...]}`, in `code` it
changes files, and what it prints is logged. Several take turns; all share one memory. See README.md.
"""

import argparse
import json
import os
import subprocess
import sys

from sillok import Client, errors


def main() -> int:
    """0 when the tests pass, 1 when the loop was stopped or has no rounds left."""
    said = arguments()
    memory = Client(os.environ["SILLOK_URL"], os.environ["SILLOK_TOKEN"])  # An orchestrator's token.
    task, places = said.scope, [f"file:{path}" for path in said.file]
    try:
        memory.open_task({"scope": task, "title": said.title})
    except errors.InvalidState:
        print("the task was open before")
    agents = [Agent(memory, task, number, command) for number, command in enumerate(said.agent, 1)]
    told: list[str] = []

    for number in range(1, said.rounds + 1):
        agent = agents[(number - 1) % len(agents)]

        # Before: what was decided, the strongest first, and what failed in tasks like this one.
        brief = agent.memory.brief({"scope": task, "at": places})
        known = {
            "round": number,
            "title": said.title,
            "brief": [item["data_marked_text"] for item in brief["items"]],
            "warnings": [warning["data_marked_text"] for warning in brief.get("warnings", [])],
            "told": told,
        }

        # Think: what depends on the files at hand, and whether the idea failed before.
        impact = agent.memory.impact({"scope": task, "at": places})
        idea = json.loads(agent.run("think", {**known, "impact": [node["node"] for node in impact["affected"]]}))
        approach, files, symbols = idea["approach"], idea["files"], idea["symbols"]
        check = agent.memory.check_fix({"scope": task, "approach": approach, "files": files, "symbols": symbols})
        print(f"round {number}, {agent.name}: {check['verdict']}: {approach}")
        told = [text for text in (check.get("order"), check.get("suggestion")) if text]
        if check["verdict"] in ("reject", "block"):
            continue

        # Code: the agent works, and what it says is on disk before it goes on.
        output = agent.run("code", {**known, "told": told, "idea": idea})[-1_000_000:].strip() or "nothing is said"
        logged = agent.memory.append_logs({"scope": task, "records": [{"level": "info", "content": output}]})

        # Verify: the true outcome, recorded by who may.
        ran = subprocess.run(said.verify, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        run = f"ralph-{number}"
        if ran.returncode == 0:
            passed = memory.record_verification(
                {"scope": task, "outcome": "passed", "source": "tests_passed", "run": run}
            )
            # Complete: how it was gone about is told to who comes after, and what was learnt is published.
            memory.store_trajectory(
                {
                    "scope": task,
                    "kind": said.kind,
                    "approach": approach,
                    "files": files,
                    "symbols": symbols,
                    "ended": "succeeded",
                    "reward": 1 / number,
                    "steps": [{"record": logged["first"]}],
                }
            )
            promotion = memory.show_promotion(scope=task, verification=passed["verification"], wait_ms=30_000)
            print(f"the tests pass: {promotion['state']}")
            return 0
        error = ran.stdout[-8_000:].strip() or f"exit status {ran.returncode}"
        failed = memory.record_verification(
            {
                "scope": task,
                "outcome": "failed",
                "source": "tests_failed",
                "run": run,
                "error": error,
                "approach": approach,
                "files": files,
                "symbols": symbols,
            }
        )
        judged = failed.get("judged")
        if judged:
            print(f"round {number}, {agent.name}: the tests fail: {judged['verdict']} ({judged['reason']})")
            told += [text for text in [judged.get("order")] if text]
            if judged["verdict"] == "block":
                memory.mark_stuck({"scope": task, "reason": f"{judged['reason']}: {error.splitlines()[-1][:500]}"})
                break
    print("the loop ends without a fix: a person has to look", file=sys.stderr)
    return 1


class Agent:
    """A command with a token of its own, which covers the task alone and lives for an hour."""

    def __init__(self, memory: Client, task: str, number: int, command: str) -> None:
        self.name = f"agent-{number}"
        self.command = command
        minted = memory.mint_token({"kind": "agent", "id": self.name, "scope": task, "lifetime_s": 3_600})
        self.memory = memory.with_token(minted["token"])
        # It may speak to the memory itself, too.
        self.environment = {**os.environ, "SILLOK_TOKEN": minted["token"], "SILLOK_SCOPE": task}

    def run(self, phase: str, known: dict[str, object]) -> str:
        """What it prints."""
        prompt = json.dumps({"phase": phase, **known})
        ran = subprocess.run(
            self.command, shell=True, input=prompt, text=True, stdout=subprocess.PIPE, env=self.environment, check=True
        )
        return ran.stdout


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Agents try until the tests pass, and none tries what has failed.")
    parser.add_argument("--scope", required=True, help="the task's scope")
    parser.add_argument("--title", required=True, help="what is to be done, in a line")
    parser.add_argument("--kind", default="bugfix", help="what sort of task it is (bugfix)")
    parser.add_argument("--file", action="append", default=[], help="a file that the work is about")
    parser.add_argument("--agent", action="append", required=True, help="a command that thinks and codes")
    parser.add_argument("--verify", required=True, help="a command that fails while the work is not done")
    parser.add_argument("--rounds", type=int, default=8, help="give up after so many (8)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
