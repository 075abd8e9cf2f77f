"""Long results: a file, both ends for the model, and the rest in parts."""

import json
import math
import os
import time

import pytest

from shellward.tools.results import READER, ResultStore
from shellward.tools.runtime import ToolRuntime

LONG = json.dumps("".join(f"line {number} é\n" for number in range(20_000)), ensure_ascii=False)


def parts(store: ResultStore, result_id: str, limit: int) -> str:
    found, offset = "", 0
    while offset is not None:
        part = store.read(result_id, offset, limit)
        found += part["content"]
        offset = part["next_offset"]
    return found


def test_a_long_result_goes_to_a_file_and_is_read_in_parts(add, call, runtime) -> None:
    add("t", handler=lambda args: LONG)
    answer = call("t")
    assert answer["truncated"]
    assert answer["size_chars"] == len(LONG)
    assert LONG.startswith(answer["head"])
    assert LONG.endswith(answer["tail"])
    assert len(answer["head"]) + len(answer["tail"]) <= 4000
    for limit in (1000, 4096, 100_000):
        assert parts(runtime.results, answer["result_id"], limit) == LONG
    assert runtime.results.read(answer["result_id"], -20, 100)["content"] == LONG.encode()[-20:].decode(errors="ignore")


def test_it_is_there_after_a_restart(add, call, runtime, tmp_path) -> None:
    add("t", handler=lambda args: LONG)
    answer = call("t")
    assert parts(ResultStore(lambda: tmp_path / "results"), answer["result_id"], 50_000) == LONG


def test_its_files_are_for_their_owner_only(add, call, tmp_path) -> None:
    add("t", handler=lambda args: LONG)
    call("t")
    (file,) = (tmp_path / "results").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_tools_own_limit_is_stronger(add, call) -> None:
    add("short", handler=lambda args: json.dumps("x" * 500), max_result_size_chars=400)
    add("long", handler=lambda args: LONG, max_result_size_chars=math.inf)
    assert call("short")["truncated"]
    assert call("long") == json.loads(LONG)


def test_the_hint_names_the_reader_only_where_the_session_has_it(add, call) -> None:
    add("t", handler=lambda args: LONG)
    assert READER not in call("t")["hint"]
    add(READER, "results")
    assert READER in call("t")["hint"]
    assert READER not in call("t", enabled_toolsets=["demo"])["hint"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7])
def test_characters_are_never_cut(runtime, limit) -> None:
    text = json.dumps("aé漢😀" * 300, ensure_ascii=False)
    result_id = json.loads(runtime.results.limited(text, 10, readable=True))["result_id"]
    assert parts(runtime.results, result_id, limit) == text
    for offset in range(40):
        assert "�" not in runtime.results.read(result_id, offset, limit)["content"]


@pytest.mark.parametrize("result_id", ["../../etc/passwd", "", "x", "0" * 32, "0" * 33, "/etc/passwd"])
def test_only_results_can_be_read(runtime, result_id) -> None:
    with pytest.raises(LookupError):
        runtime.results.read(result_id, 0, 100)


def test_a_link_is_not_followed(runtime, tmp_path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / ("0" * 32)).symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="symbolic"):
        runtime.results.read("0" * 32, 0, 100)


def test_offsets_beyond_the_end(runtime) -> None:
    result_id = json.loads(runtime.results.limited('"abcdef"', 4, readable=True))["result_id"]
    assert runtime.results.read(result_id, 1000, 10) == {
        "content": "",
        "offset": 8,
        "next_offset": None,
        "size_bytes": 8,
    }
    assert runtime.results.read(result_id, -1000, 100)["content"] == '"abcdef"'


def test_the_oldest_go_when_there_are_too_many(tmp_path) -> None:
    store = ResultStore(lambda: tmp_path, kept_bytes=2500)
    ids = []
    for number in range(4):
        ids.append(json.loads(store.limited(json.dumps("x" * 998), 10, readable=True))["result_id"])
        os.utime(tmp_path / ids[-1], (time.time() - 100 + number,) * 2)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(ids[2:])


def test_what_is_old_goes_and_other_files_stay(tmp_path) -> None:
    store = ResultStore(lambda: tmp_path, kept_seconds=50)
    old = json.loads(store.limited('"abcdef"', 1, readable=True))["result_id"]
    os.utime(tmp_path / old, (time.time() - 60,) * 2)
    (tmp_path / "note").write_text("kept")
    new = json.loads(store.limited('"abcdef"', 1, readable=True))["result_id"]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([new, "note"])


def test_where_it_cannot_be_kept_the_model_is_told(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    store = ResultStore(lambda: tmp_path / "file" / "results")
    answer = json.loads(store.limited(LONG, 1000, readable=True))
    assert "cannot be kept" in answer["error"]
    assert answer["head"]
    assert "full_output" not in answer


def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch) -> None:
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        answer = json.loads(ResultStore(lambda: tmp_path).limited(LONG, 1000, readable=True))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "cannot be kept" in answer["error"]
    assert list(tmp_path.iterdir()) == []


def test_the_tool_itself(own_home) -> None:
    from shellward.tools.default import get_tool_definitions, handle_function_call

    assert [each["function"]["name"] for each in get_tool_definitions(["results"])] == [READER]
    answer = json.loads(ResultStore().limited(LONG, 1000, readable=True))
    assert str(own_home) in answer["full_output"]
    part = json.loads(handle_function_call(READER, {"result_id": answer["result_id"], "offset": "10", "limit": 30}))
    assert part["content"] == LONG.encode()[10:40].decode()
    assert "no id" in json.loads(handle_function_call(READER, {"result_id": "../x"}))["error"]
    assert "call the tool again" in json.loads(handle_function_call(READER, {"result_id": "0" * 32}))["error"]


def test_hooks_see_the_whole_result(add, call, runtime: ToolRuntime) -> None:
    add("t", handler=lambda args: LONG)
    seen = []
    runtime.hooks.add("post_tool_call", lambda outcome: seen.append(outcome.result == LONG))
    assert call("t")["truncated"]
    assert seen == [True]
