"""The benchmarks' table, without measuring anything: what a bar means, and that it lands where it should."""

import importlib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    return importlib.import_module


def test_rows_have_names_of_their_own(load):
    names = [row.name for row in load("run").ROWS]
    assert len(names) == len(set(names))


def test_every_row_is_explained(load):
    text = (REPOSITORY / "docs" / "performance.md").read_text()
    for row in load("run").ROWS:
        assert f"`{row.name.removesuffix('-file')}`" in text, row.name


@pytest.mark.parametrize(
    ("sign", "of", "limit", "holds"),
    [
        ("<=", "ratio", 0.5, True),
        ("<=", "ratio", 0.4, False),
        ("<", "figure", 10, False),
        (">=", "figure", 10, True),
        ("<=", "difference", -10, True),
        ("<", "difference", -10, False),
    ],
)
def test_bars(load, sign, of, limit, holds):
    figures = load("figures")
    assert figures.Bar(sign, limit, of).holds(figures.Measured(10, 20, 1)) is holds


def test_contestants_take_turns_in_both_orders(load):
    seen = []

    def contestant(name):
        def once():
            seen.append(name)
            return {"a": 1.0, "b": 2.0}[name]

        return once

    measured = load("figures").compare(contestant("a"), contestant("b"), samples=4, block=2)
    assert "".join(seen) == "aabb" + "aabb" + "bbaa"
    assert (measured.figure, measured.baseline, measured.ratio, measured.samples) == (1.0, 2.0, 0.5, 4)


def test_a_table_takes_the_place_of_the_one_before(load):
    report = load("report")
    page = f"before\n{report.START}\nold\n{report.END}\nafter\n"
    new = report.fill(page, "| new |")
    assert new == f"before\n{report.START}\n| new |\n{report.END}\nafter\n"
    assert report.fill(new, "| new |") == new


@pytest.mark.parametrize("page", ["", "{0}", "{1} {0}", "{0} {0} {1}"])
def test_a_page_without_a_place_for_it_is_refused(load, page):
    report = load("report")
    with pytest.raises(ValueError, match="the page needs"):
        report.fill(page.format(report.START, report.END), "table")


def test_the_page_has_a_place_for_it(load):
    report = load("report")
    report.fill((REPOSITORY / "docs" / "performance.md").read_text(), "table")


def test_rows_that_were_measured_again_take_their_places(load):
    figures, report = load("figures"), load("report")
    row = figures.Row("x", "this", "that", "ms", figures.Bar("<=", 0.5), print)
    other = figures.Row("y", "this", "something else", "ms", figures.Bar("<=", 0.5), print)
    first = [report.Line(each, figures.Measured(1.0, 4.0, 200)) for each in (row, other)]
    page = f"before\n{report.as_markdown(first, report.machine(figures.Settings('some/image')))}\nafter\n"
    again = report.renew(page, [report.Line(row, figures.Measured(2.0, 4.0, 100))])
    new = "| this | 2 ms | 4 ms | that | 0.5 | <= 0.5 | yes | 100 samples; measured again |"
    assert again == page.replace("| this | 1 ms | 4 ms | that | 0.25 | <= 0.5 | yes | 200 samples |", new)
    with pytest.raises(ValueError, match="no row of z"):
        report.renew(page, [report.Line(figures.Row("z", "what", "no", "ms", row.bar, print), None, "skipped")])


def test_rows_that_fail_or_are_skipped_are_shown(load):
    figures, report = load("figures"), load("report")
    bar = figures.Bar("<=", 0.5)
    row = figures.Row("x", "this", "that", "ms", bar, print)
    lines = [
        report.Line(row, figures.Measured(1.0, 4.0, 200)),
        report.Line(row, None, "skipped: no engine"),
        report.Line(row, None, "FAILED: it", failed=True),
    ]
    assert [line.holds for line in lines] == [True, None, False]
    shown = report.as_markdown(lines, report.machine(figures.Settings("some/image")))
    assert "| this | 1 ms | 4 ms | that | 0.25 | <= 0.5 | yes | 200 samples |" in shown
    assert "skipped: no engine" in shown
    assert "FAILED: it" in shown
