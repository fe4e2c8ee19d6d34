"""The client against the real server: calls, command ids, refusals, tails, and a server that is away."""

from __future__ import annotations

import threading
import time
import typing
import uuid

import pytest
from conftest import Server
from sillok import Client, Retry, Unreachable, errors, models, new_command_id


def opened(client: Client, task: str) -> models.TaskChanged:
    return client.open_task({"scope": task, "title": "Carts are off by one"})


def test_what_is_verified_is_recalled(admin: Client, task: str) -> None:
    opened(admin, task)
    record: models.LogRecord = {"level": "tool", "content": "edit src/cart.sh: replace 'i < n' by 'i <= n'"}
    admin.append_logs({"scope": task, "records": [record]})
    recorded = admin.record_verification({"scope": task, "outcome": "passed", "source": "tests_passed", "run": "1"})
    promotion = admin.show_promotion(scope=task, verification=recorded["verification"], wait_ms=20_000)
    assert promotion["state"] == "done", promotion
    found = admin.recall({"scope": task, "query": "which file was edited for the cart"})
    assert "The file src/cart.sh was edited." in [result["content"] for result in found["results"]]


def test_a_write_that_is_sent_again_is_carried_out_once(admin: Client, task: str) -> None:
    opened(admin, task)
    body: models.AppendLogs = {"scope": task, "records": [{"level": "info", "content": "once"}]}
    command = new_command_id()
    first = admin.append_logs(body, command_id=command)
    assert admin.append_logs(body, command_id=command) == first
    records = admin.list_records(scope=task)["items"]
    assert [record["content"] for record in records] == ["once"]
    with pytest.raises(errors.CommandReused):
        admin.append_logs({"scope": task, "records": [{"level": "info", "content": "twice"}]}, command_id=command)


def test_command_ids_are_of_version_7_and_rise_with_the_time() -> None:
    ids = []
    for _ in range(3):
        ids.append(uuid.UUID(new_command_id()))
        time.sleep(0.002)
    assert all(command.version == 7 and command.variant == uuid.RFC_4122 for command in ids)
    assert ids == sorted(ids)


def test_each_refusal_is_raised_as_the_class_of_its_code(admin: Client, task: str) -> None:
    opened(admin, task)
    minted = admin.mint_token({"kind": "agent", "id": "a", "scope": task, "lifetime_s": 60})
    agent = admin.with_token(minted["token"])
    with pytest.raises(errors.Forbidden) as denied:
        agent.record_verification({"scope": task, "outcome": "passed", "source": "tests_passed", "run": "1"})
    assert denied.value.problem["rule"] == "control/record_verification"
    with pytest.raises(errors.NotFound):
        admin.show_task(scope=task + "0")
    with pytest.raises(errors.InvalidScope) as invalid:
        admin.show_task(scope="nowhere")
    assert isinstance(invalid.value, errors.Invalid)
    with pytest.raises(errors.Unauthenticated):
        Client(admin.url, "no token").status()
    saved = admin.save_decision({"scope": task, "title": "Whole cents", "content": "No floats."})
    change: models.SaveDecision = {
        "scope": task,
        "root": saved["root"],
        "title": "Cents",
        "content": "No floats at all.",
        "reason": "short",
        "expected_version": 9,
    }
    with pytest.raises(errors.Conflict) as stale:
        admin.save_decision({**change, "rank": "normal", "domain": "global"})
    assert stale.value.problem["current"] is not None and stale.value.problem["current"]["version"] == 1


def test_every_code_of_the_document_has_a_class_of_its_own() -> None:
    codes = set(typing.get_args(models.ErrorCode))
    assert set(errors.BY_CODE) == codes
    assert len(set(errors.BY_CODE.values())) == len(codes)


def test_a_tail_tells_what_happens_and_is_taken_up_behind_its_cursor(admin: Client, task: str) -> None:
    opened(admin, task)
    project = task.split("/worktree/")[0]
    tail = admin.tail(scope=project)
    first = next(tail)
    assert first["event"]["kind"] == "TASK_OPENED"

    def later() -> None:
        time.sleep(0.2)
        admin.append_logs({"scope": task, "records": [{"level": "info", "content": "heard"}]})

    writer = threading.Thread(target=later)
    writer.start()
    assert next(tail)["event"]["kind"] == "RECORD_APPENDED"
    writer.join()
    assert next(admin.tail(scope=project, cursor=first["cursor"]))["event"]["kind"] == "RECORD_APPENDED"
    with pytest.raises(errors.Invalid):
        next(admin.tail(scope=project, cursor="no cursor"))


def test_pages_and_plain_texts_and_bytes_are_read(admin: Client, task: str) -> None:
    opened(admin, task)
    records: list[models.LogRecord] = [{"level": "info", "content": str(n)} for n in range(3)]
    admin.append_logs({"scope": task, "records": records})
    page = admin.list_records(scope=task, limit=2)
    rest = admin.list_records(scope=task, limit=2, after=page["next"])
    assert [record["content"] for record in [*page["items"], *rest["items"]]] == ["0", "1", "2"]
    assert "sillok_" in admin.metrics()
    assert sum(len(piece) for piece in admin.backup()) > 1_000
    assert admin.openapi()["info"]["title"] == "Sillok"


def test_a_call_outlasts_a_restart_and_a_tail_goes_on_behind_it(server: Server, task: str) -> None:
    patient = Retry(attempts_max=40, delay_ms_first=50, delay_ms_max=500)
    client = Client(server.client().url, (server.data / "admin.token").read_text().strip(), retry=patient)
    opened(client, task)
    tail = client.tail(scope=task.split("/worktree/")[0])
    assert next(tail)["event"]["kind"] == "TASK_OPENED"
    server.stop()
    again = threading.Timer(0.5, server.start)
    again.start()
    client.append_logs({"scope": task, "records": [{"level": "info", "content": "after the restart"}]})
    again.join()
    assert next(tail)["event"]["kind"] == "RECORD_APPENDED"
    assert len(client.list_records(scope=task)["items"]) == 1


def test_a_server_that_is_away_is_unreachable_after_all_attempts() -> None:
    begun = time.monotonic()
    with pytest.raises(Unreachable):
        Client("http://127.0.0.1:9", retry=Retry(attempts_max=3, delay_ms_first=20)).live()
    # Two delays, 20 and 40 ms, each at least by half.
    assert time.monotonic() - begun >= 0.03
