"""The loop of examples/ralph-loop, as its README runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sillok import Client, models

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "ralph-loop"

# Agents that have another idea each round, none of which helps.
HELPLESS = """
import json, sys
known = json.load(sys.stdin)
ideas = ["Cache the parsed header", "Sort rows by their key", "Lock the queue around appends", "Escape quotes"]
idea = {"approach": ideas[known["round"] - 1], "files": [f"part{known['round']}.py"], "symbols": []}
print(json.dumps(idea) if known["phase"] == "think" else "edit")
"""

# One that notes down what it is warned of.
CAREFUL = """
import json, pathlib, sys
known = json.load(sys.stdin)
pathlib.Path("warnings").write_text("".join(known["warnings"]))
print(json.dumps({"approach": "Take pieces until the end", "files": [], "symbols": []}))
"""


def loop(admin: Client, task: str, work: Path, verify: str, agents: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs the loop under an orchestrator's token."""
    project = task.split("/worktree/")[0]
    token = admin.mint_token({"kind": "orchestrator", "id": "ralph", "scope": project, "lifetime_s": 600})["token"]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "clients" / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SILLOK_URL": admin.url,
        "SILLOK_TOKEN": token,
    }
    line = [sys.executable, str(EXAMPLE / "ralph.py"), "--scope", task, "--title", "Answers arrive by half"]
    line += ["--file", "client.py", "--verify", verify, *(word for agent in agents for word in ("--agent", agent))]
    return subprocess.run(line, cwd=work, env=environment, capture_output=True, text=True, timeout=60)


def test_agents_get_there_and_none_repeats_what_failed(admin: Client, task: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(EXAMPLE / "sample", work)
    agent = f"{sys.executable} agent.py"
    ran = loop(admin, task, work, f"{sys.executable} -m unittest -q", [agent, agent])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = [line.split(": ")[:2] for line in ran.stdout.splitlines()]
    assert told == [
        ["round 1, agent-1", "allow"],
        ["round 1, agent-1", "the tests fail"],
        ["round 2, agent-2", "reject"],
        ["round 3, agent-1", "allow"],
        ["the tests pass", "done"],
    ]
    assert admin.show_task(scope=task)["status"] == "done"
    failed = admin.list_failed_approaches(scope=task)["items"]
    assert [one["approach"]["text"] for one in failed] == ["Increase the read timeout"]
    logged = {record["content"] for record in admin.list_records(scope=task)["items"]}
    assert "edit client.py: replace 'TIMEOUT_S = 1' by 'TIMEOUT_S = 5'" in logged
    found = admin.search_patterns(scope=task, query="read until the peer closes", kind="bugfix")["patterns"]
    assert [pattern["approach"]["text"] for pattern in found] == ["Take pieces until the peer closes the connection"]
    assert (found[0]["succeeded"], found[0]["failed"]) == (1, 0)
    assert found[0]["cited"][0]["reward"] == pytest.approx(1 / 3)


def test_agents_begin_with_what_failed_in_tasks_like_theirs(admin: Client, task: str, tmp_path: Path) -> None:
    before = task[:-1] + "0"
    admin.open_task({"scope": before, "title": "Answers arrive by half"})
    failed: models.RecordVerification = {"scope": before, "outcome": "failed", "source": "tests_failed", "run": "1"}
    tried = "Increase the read timeout"
    admin.record_verification({**failed, "error": "AssertionError: one half", "approach": tried})
    (tmp_path / "careful.py").write_text(CAREFUL)
    ran = loop(admin, task, tmp_path, "true", [f"{sys.executable} careful.py"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert tried in (tmp_path / "warnings").read_text()


def test_an_error_that_keeps_coming_back_ends_the_loop(admin: Client, task: str, tmp_path: Path) -> None:
    (tmp_path / "helpless.py").write_text(HELPLESS)
    ran = loop(admin, task, tmp_path, "echo 'ValueError: nothing helps'; exit 1", [f"{sys.executable} helpless.py"])
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "block (too_often)" in ran.stdout.splitlines()[-1]
    shown = admin.show_task(scope=task)
    assert shown["status"] == "stuck"
    assert shown["stuck_reason"] == "too_often: ValueError: nothing helps"
