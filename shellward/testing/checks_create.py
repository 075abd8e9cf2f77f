"""``create`` and ``attach``: typed configuration.

And clear errors for what is not there. Never a fallback.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from shellward import environments
from shellward.core.errors import ConfigError, EnvironmentUnavailable, ShellwardError
from shellward.testing.trial import at_most, raises

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def wrong_settings(t: Trial) -> None:
    """An unknown key or a wrong value is one clear line that names the key; nothing is made."""
    for key, value in {**t.place.wrong_settings, "no_such_setting": 1}.items():
        with at_most(5, f"{key}={value!r}"), raises(ConfigError) as caught:
            t.place.create(**{key: value}).close()
        assert isinstance(caught.value, ValueError)
        assert key in str(caught.value), caught.value
        assert "\n" not in str(caught.value), caught.value
        assert len(str(caught.value)) < 400


def close_misspelling_is_named(t: Trial) -> None:
    """A key that is nearly right is answered with the key that was meant."""
    with raises(ConfigError) as caught:
        t.place.create(cwdd="/tmp").close()
    assert "cwd" in str(caught.value).replace("cwdd", "")


def unknown_kind(t: Trial) -> None:
    """An unknown kind is a ConfigError that lists the known ones; there is no default to fall back to."""
    for kind in ("no-such-kind", "", "Docker ", "local "):
        with raises(ConfigError) as caught:
            environments.create(kind)
        assert t.place.kind in str(caught.value)


def handles_that_lead_nowhere(t: Trial) -> None:
    """``attach`` to what is not there, or was closed, is EnvironmentUnavailable.

    Nonsense is an error of ours.
    """
    env = t.place.create()
    handle = env.handle
    env.close()
    for bad in (handle, f"{t.place.kind}:no-such-thing"):
        with at_most(10, bad), raises(ShellwardError):
            environments.attach(bad).close()
    for bad in ("", "nonsense", ":", "no-such-kind:1"):
        with at_most(10, bad), raises(ShellwardError, ValueError):
            environments.attach(bad).close()


def directory_that_is_not_there(t: Trial) -> None:
    """``create(cwd=)`` that is missing: a clear error that names it, at creation or at the first command."""
    with raises(ShellwardError, OSError) as caught, t.place.create(cwd="/no/such/directory") as env:
        env.run("true")
    assert "/no/such/directory" in str(caught.value)


def missing_things(t: Trial) -> None:
    """A daemon, host or image that is not there is EnvironmentUnavailable with what to do.

    Soon, and no fallback.
    """
    failures = []
    for refusal in t.place.refusals:
        body = f"""
            if {refusal.uid!r} is not None:
                {"".join(f"import {name}; " for name in refusal.imports)}
                os.setgroups([]); os.setgid({refusal.uid!r}); os.setuid({refusal.uid!r})
            os.environ.update(json.loads({json.dumps(dict(refusal.variables))!r}))
            start = time.monotonic()
            try:
                env = make()
                env.run("true")
                say(json.dumps(["nothing was raised", "", 0]))
            except Exception as error:
                say(json.dumps([type(error).__name__, str(error), time.monotonic() - start]))
            """
        kind, message, took = json.loads(t.client_says(body, refusal.config).splitlines()[-1])
        if kind != EnvironmentUnavailable.__name__:
            failures.append(f"{refusal.name}: {kind}: {message}")
        elif refusal.mentions and not any(word.lower() in message.lower() for word in refusal.mentions):
            failures.append(f"{refusal.name}: the message mentions none of {refusal.mentions}: {message}")
        elif took > 10:
            failures.append(f"{refusal.name}: took {took:.1f} s")
        elif "Traceback" in message or len(message) > 1000:
            failures.append(f"{refusal.name}: no message for a person: {message}")
    assert not failures, "\n".join(failures)


def clients_secrets_stay_out(t: Trial) -> None:
    """The sandbox does not inherit the client's environment: tokens and keys of any name stay out."""
    said = t.client_says(
        """
        for name in ("AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "OPENAI_API_KEY", "DB_PASSWORD", "INNOCENT"):
            os.environ[name] = "shellward-secret"
        with make() as env:
            say(env.run("env; set; cat /proc/self/environ").stdout.count("shellward-secret"))
            say(env.run(["env"]).stdout.count("shellward-secret"))
        """
    )
    assert said.split() == ["0", "0"]
