"""Tool search: when it stands in, what it finds, and that it goes no further than the session."""

import json
import time

import pytest
from catalogue import catalogue, questions

from shellward.config.schema import ToolSearchSection, ToolsSection
from shellward.tools.registry import loading
from shellward.tools.search import Index
from shellward.tools.tool import Origin

STAND_INS = ["tool_search", "tool_describe", "tool_call"]


@pytest.fixture
def mode(runtime):
    def choose(**settings) -> None:
        runtime.settings = ToolsSection(tool_search=ToolSearchSection(**settings))

    return choose


@pytest.fixture
def many(add) -> None:
    for listed in catalogue():
        add(listed.schema["name"], listed.toolset, schema=listed.schema)
    add("terminal", "terminal")


@pytest.fixture(scope="module")
def index() -> Index:
    return Index((each.toolset, each.schema) for each in catalogue())


@pytest.mark.usefixtures("many")
class TestStandIns:
    def test_many_schemas_are_replaced_and_the_core_never(self, names) -> None:
        assert names() == ["terminal", *STAND_INS]

    def test_few_are_listed(self, names) -> None:
        assert len(names(["mcp-git"])) == 12
        assert not set(STAND_INS) & set(names(["mcp-git"]))

    def test_the_threshold_is_a_share_of_the_context(self, names, mode, runtime) -> None:
        tokens = sum(tool.tokens for tool in runtime.registry.tools().values() if tool.deferrable)
        mode(context_window=tokens * 10)
        assert names() == ["terminal", *STAND_INS]
        mode(context_window=tokens * 10 + 10)
        assert len(names()) == len(catalogue()) + 1
        mode(context_window=tokens * 2, threshold_pct=51)
        assert len(names()) == len(catalogue()) + 1

    def test_on_and_off(self, names, mode) -> None:
        mode(enabled="on", context_window=10**9)
        assert names() == ["terminal", *STAND_INS]
        assert names(["terminal"]) == ["terminal"]
        mode(enabled="off")
        assert len(names()) == len(catalogue()) + 1

    def test_search_describe_call(self, call) -> None:
        found = call("tool_search", {"query": "create a github issue"})
        assert found["tools"][0]["name"] == "github_create_issue"
        assert found["tools"][0]["description"].startswith("Create a new issue")
        schema = call("tool_describe", {"name": "github_create_issue"})
        assert "owner" in schema["parameters"]["properties"]
        arguments = {"owner": "o", "repo": "r", "title": "t", "milestone": "3"}
        answer = call("tool_call", {"name": "github_create_issue", "arguments": json.dumps(arguments)}, task_id="a")
        assert answer["tool"] == "github_create_issue"
        assert answer["args"] == {**arguments, "milestone": 3}
        assert answer["task_id"] == "a"

    def test_five_unless_asked_for_more_and_never_more_than_the_most(self, call, mode) -> None:
        assert len(call("tool_search", {"query": "issue"})["tools"]) == 5
        assert len(call("tool_search", {"query": "issue", "limit": 7})["tools"]) == 7
        assert len(call("tool_search", {"query": "issue", "limit": 1000})["tools"]) == 20
        mode(enabled="on", search_default_limit=2, max_search_limit=3)
        assert len(call("tool_search", {"query": "issue"})["tools"]) == 2
        assert len(call("tool_search", {"query": "issue", "limit": 9})["tools"]) == 3

    def test_it_knows_only_the_sessions_toolsets(self, call, mode) -> None:
        mode(enabled="on")
        session = {"enabled_toolsets": ["mcp-jira", "terminal"]}
        found = call("tool_search", {"query": "create issue", "limit": 20}, **session)
        assert all(each["name"].startswith("jira_") for each in found["tools"])
        assert "no such tool" in call("tool_describe", {"name": "github_get_issue"}, **session)["error"]
        assert "no such tool" in call("tool_call", {"name": "github_get_issue", "arguments": {}}, **session)["error"]

    def test_it_follows_what_is_registered(self, call, runtime) -> None:
        runtime.registry.deregister("github_create_issue")
        found = call("tool_search", {"query": "create a github issue"})
        assert "github_create_issue" not in [each["name"] for each in found["tools"]]

    def test_hooks_see_the_real_tool(self, call, runtime) -> None:
        seen = []
        runtime.hooks.add("pre_tool_call", lambda call: seen.append((call.name, dict(call.args), call.toolset)))
        call("tool_call", {"name": "redis_get", "arguments": {"key": "k"}})
        assert seen == [("redis_get", {"key": "k"}, "mcp-redis")]

    def test_arguments_are_checked_as_ever(self, call) -> None:
        assert "redis_get do not fit" in call("tool_call", {"name": "redis_get", "arguments": {}})["error"]
        assert "redis_get do not fit" in call("tool_call", {"name": "redis_get"})["error"]
        assert "tool_search do not fit" in call("tool_search", {})["error"]
        assert "tool_search do not fit" in call("tool_search", {"query": "x", "limit": 0})["error"]

    @pytest.mark.parametrize("name", STAND_INS)
    def test_they_do_not_call_each_other(self, call, name) -> None:
        assert "not through tool_call" in call("tool_call", {"name": name, "arguments": {}})["error"]

    def test_the_agents_own_tools_are_stubs_through_it_too(self, call) -> None:
        assert "agent's own loop" in call("tool_call", {"name": "todo", "arguments": {}})["error"]

    def test_nothing_found_says_so(self, call) -> None:
        assert call("tool_search", {"query": "zzzzqqq"}) == {
            "tools": [],
            "of": len(catalogue()),
            "hint": "nothing fits; try other words, or the name of the service",
        }

    def test_an_answer_for_each_thread_at_once(self, call) -> None:
        import threading

        answers = []

        def ask() -> None:
            answers.append(call("tool_search", {"query": "create a github issue"})["tools"][0]["name"])

        threads = [threading.Thread(target=ask) for _ in range(20)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(30)
        assert answers == ["github_create_issue"] * 20


def test_where_all_is_listed_there_is_nothing_to_search(add, call) -> None:
    add("t")
    assert "not in use" in call("tool_search", {"query": "x"})["error"]


def test_plugins_tools_are_deferred_and_ones_own_are_not(add, names, mode) -> None:
    mode(enabled="on")
    add("own", "x")
    with loading(Origin.PLUGIN):
        add("brought", "x")
    assert names() == ["own", *STAND_INS]


def test_the_right_tool_is_among_the_first_five(index) -> None:
    """The bar: 95 of 100 questions, written before the ranking was."""
    asked = questions()
    right = [each for each in asked if {hit.name for hit in index.search(each.query, 5)} & each.right]
    assert len(asked) == 100
    assert len(right) >= 95, [each.query for each in asked if each not in right]


def test_questions_that_the_ranking_was_not_tuned_with(index) -> None:
    asked = questions("held_out.txt")
    right = [each for each in asked if {hit.name for hit in index.search(each.query, 5)} & each.right]
    assert len(right) >= 0.9 * len(asked)


@pytest.mark.parametrize("query", ["creating issues", "created Issue", "CREATE ISSUE", "createIssue", "create_issue"])
def test_words_are_stems_and_names_are_words(index, query) -> None:
    assert any(hit.name.endswith("create_issue") for hit in index.search(query, 5))


def test_parameter_names_are_searched(add) -> None:
    schema = {"name": "t", "description": "", "parameters": {"properties": {"isbnNumber": {"type": "string"}}}}
    assert [hit.name for hit in Index([("x", schema)]).search("isbn", 5)] == ["t"]


def test_text_that_has_no_known_word_is_searched_literally() -> None:
    tools = [
        ("x", {"name": "a", "description": "Uses C++ and Go", "parameters": {}}),
        ("x", {"name": "b", "description": "Wiederherstellungsverzeichnis anlegen", "parameters": {}}),
    ]
    assert [hit.name for hit in Index(tools).search("++", 5)] == ["a"]
    assert [hit.name for hit in Index(tools).search("herstellungs", 5)] == ["b"]
    assert Index(tools).search("  ", 5) == []
    assert Index([]).search("x", 5) == []


@pytest.mark.parametrize(
    "query",
    ['"', "a OR b", "NEAR(a b)", "name:x", "*", "a*", "(", "-", "\0", "'; drop table tools; --", "日本", "é" * 10_000],
)
def test_no_query_is_syntax(index, query) -> None:
    index.search(query, 5)


def test_a_query_of_any_length_is_quick(index) -> None:
    start = time.monotonic()
    index.search("issue create " * 100_000, 5)
    assert time.monotonic() - start < 5
