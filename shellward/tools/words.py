"""Words of tool search: which say nothing in a query, and which mean much the same.

Data, not code. A group is of words that people and servers use for one thing ("ticket", "issue"); a word of a query
also finds the others of its groups, for less. Words are in the singular; stemming does the rest.
"""

from collections.abc import Mapping
from typing import Final

_NOISE: Final = """
a about all also am an and any are as at be been but by can could did do does doing else ever everybody everyone
for from had has have he her his how i if in into is it its just let like make may me my need now of on one or
our out please she should so some somebody someone something than that the their them then there these they this
those to too try up us using via want was we were what when where which while who whose why will with would you
your
"""
NOISE: Final = frozenset(_NOISE.split())
"""Words that say nothing of what a tool does."""

_GROUPS: Final = (
    "issue ticket bug task story defect",
    "pr pull request merge",
    "mr merge request",
    "approve review accept",
    "ci pipeline workflow action build job check",
    "repo repository project",
    "email mail message inbox gmail",
    "chat message slack conversation",
    "post send write publish",
    "reply answer respond comment",
    "comment note",
    "folder directory",
    "file document doc",
    "spreadsheet sheet cell excel",
    "presentation slide powerpoint",
    "wiki confluence page documentation doc",
    "meeting event appointment calendar schedule invitation",
    "free available busy freebusy slot",
    "find search lookup look query locate",
    "show get list display view read fetch see retrieve",
    "add create new make insert open",
    "change update edit modify replace set alter",
    "remove delete erase drop clear purge",
    "cancel delete stop terminate abort",
    "close resolve state status done finish transition",
    "move rename transfer transition",
    "start launch run begin boot",
    "stop halt shutdown pause kill",
    "restart rollout reboot",
    "rollback undo revert roll",
    "run execute exec invoke call",
    "shell command exec terminal bash",
    "deploy apply install release rollout",
    "release version publish tag",
    "server instance machine vm node host ec2",
    "container docker",
    "pod container kubernetes k8s",
    "k8s kubernetes cluster",
    "database db sql",
    "column field schema structure detail",
    "slow slowest performance explain plan latency",
    "suggest recommend propose",
    "mongo mongodb",
    "postgres postgresql",
    "cache redis",
    "ttl expiration expire expiry",
    "bucket s3 object",
    "link url presigned",
    "temporary presigned expire",
    "spend cost bill billing price usage",
    "secret password credential key token",
    "log output trace",
    "stacktrace traceback exception error crash",
    "alert monitor notification alarm notify",
    "cpu memory usage resource metric statistic",
    "customer client user account",
    "bill invoice charge",
    "refund reimburse",
    "discount coupon promo voucher",
    "lead contact person prospect",
    "support ticket zendesk helpdesk",
    "website web page site url browser",
    "open navigate visit go",
    "picture screenshot image photo",
    "enter type fill input",
    "google web search internet",
    "headline news article latest",
    "download fetch save export",
    "upload put attach",
    "size big large length metadata",
    "modified changed updated metadata",
    "difference diff change",
    "uncommitted unstaged dirty",
    "history log commit",
    "wrote author blame",
    "branch checkout switch",
    "route direction navigate travel distance",
    "weather rain forecast temperature snow sunny",
    "tomorrow forecast future",
    "euro dollar currency money exchange",
    "time clock timezone",
    "sms text phone",
    "call phone dial",
    "speech voice audio spoken",
    "transcribe transcript",
    "restaurant place location nearby near",
    "music song track playlist",
    "assign assignee owner",
    "hour time worklog spent",
    "member user people",
    "invite add join",
    "share permission access",
    "emoji reaction react thumbs",
    "block paragraph text",
    "row record entry",
    "filter query condition",
    "scale replica resize",
    "dns domain record zone",
    "javascript js script",
    "test check verify",
    "label tag category",
    "archive zip compress",
)


def _kin() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in _GROUPS:
        words = group.split()
        for word in words:
            found.setdefault(word, set()).update(words)
    return {word: frozenset(others - {word}) for word, others in found.items()}


KIN: Final = _kin()
"""The other words of a word's groups."""
