"""Editors, debuggers and clients that are given commands: what they run outside of themselves is found."""

import pytest

from shellward.approval import detect_dangerous_command

PLACE = "/srv/data"


@pytest.mark.parametrize(
    "line",
    [
        f"""vim -es -c "call call('delete',['{PLACE}','rf'])" -c 'qa!' x""",
        f"""vim -es -c "exe 'call del'.'ete(\\"{PLACE}\\",\\"rf\\")'" x""",
        f"vim -es -c 'g/x/!rm -rf {PLACE}' x",
        "vim -es -c '%!sh' x",
        f"printf '1,$w !rm -rf {PLACE}\\n' | ed -s x",
        "printf '1,$w /etc/passwd\\n' | ed -s x",
        f"gdb -batch -ex 'pipe echo x | rm -rf {PLACE}'",
        f"""gdb -batch -ex 'eval "shell rm -rf %s", "{PLACE}"'""",
        f"gdb -batch -ex 'she rm -rf {PLACE}'",
        f"sqlite3 :memory: '.sh rm -rf {PLACE}'",
        f"echo '.sy rm -rf {PLACE}' | sqlite3",
        f"""sqlite3 :memory: ".once '|rm -rf {PLACE}'" 'select 1'""",
        """sqlite3 :memory: "select writefile('/etc/passwd', 'x')\"""",
        f"psql -c '\\o |rm -rf {PLACE}'",
        f"psql -c '\\echo `rm -rf {PLACE}`'",
        f"mariadb -e 'system rm -rf {PLACE}'",
        f"printf 'shell rm -rf {PLACE}\\n' | lftp",
        f"printf 'system(q(rm -rf {PLACE}))\\n' | perl -de0",
        f"printf '!!rm -rf {PLACE}\\n' | perl -de0",
        f"echo 'exec sh -c {{rm -rf {PLACE}}}' | tclsh",
        f"echo 'open {{|rm -rf {PLACE}}}' | tclsh",
        f'bind \'"z":"rm -rf {PLACE}\\C-m"\'',
        "echo 'import os' > ~/.local/lib/python3.11/site-packages/x.pth",
    ],
)
def test_what_they_run_is_found(line: str) -> None:
    assert detect_dangerous_command(line).findings


@pytest.mark.parametrize(
    "line",
    [
        "vim -es -c '%s/a/b/g' -c wq x",
        "vim -c 'set nu' -c 'normal G' x",
        "vim +PlugInstall +qall",
        "gdb -batch -ex run -ex bt --args ./app x",
        "gdb -batch -ex 'set pagination off' -ex 'thread apply all bt' -p 7",
        "sqlite3 app.db '.tables'",
        "sqlite3 app.db '.mode csv' '.once out.csv' 'select * from t'",
        "psql -c '\\dt'",
        "psql -c '\\copy t to out.csv csv'",
        "mysql -e 'show tables'",
        "perl -d x.pl",
        "echo 'puts [expr {1 + 2}]' | tclsh",
        "bind '\"\\e[A\": history-search-backward'",
        "wget -O model.pth https://example.com/model.pth",
    ],
)
def test_everyday_uses_are_not(line: str) -> None:
    assert not detect_dangerous_command(line)
