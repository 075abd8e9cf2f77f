"""git and other version control: losing work and rewriting shared history."""

import re
from dataclasses import replace

from shellward.approval import checks
from shellward.approval.paths import Kind, classify
from shellward.approval.rule import Call, Check, Rule
from shellward.core.gate import Severity

_H, _M = Severity.HIGH, Severity.MEDIUM
_WORK = "Changes that were not committed are lost."
_SHARED = "Commits that others have, or rely on, disappear from the remote."
_UNREACHABLE = "Commits that nothing else names become unreachable and are collected."

_ALL: tuple[Rule, ...] = (
    Rule("git.reset-hard", "git", r"^git reset (?:.* )?--(?:hard|merge|keep)\b", "throws away changes in the working tree", _H, _WORK,
         ("git reset --hard", "git -C d reset --ha origin/main", "git reset --merge", "git -- reset --hard", "git -c a=b reset HEAD~3 --hard"), ("git reset --soft HEAD~1", "git reset HEAD f", "git rev-parse --hard", "git reset")),
    Rule("git.clean", "git", r"^git clean (?:.* )?(?:--force|-f|-x|-X|-d)\b", "deletes untracked files", _H, "Untracked files are not in git and do not come back.", ("git clean -fd", "git clean -xfd", "git clean -f -x"), ("git clean -n", "git clean -fdn", "git clean --dry-run"), unless=r" --(?:dry-run|interactive)\b"),
    Rule("git.clean-listed", "rm grm unlink shred trash", "", "deletes untracked files", _H, "Untracked files are not in git and do not come back.", ("git ls-files -o | xargs rm", "git ls-files -o | xargs -d '\\n' sh -c 'rm -f \"$@\"' _", "rm -f $(git ls-files --others)", "git ls-files -oz --exclude-standard | xargs -0 rm -rf", 'git ls-files -o | while read f; do rm "$f"; done'),
         ("git ls-files -o", "git ls-files -o | xargs ls", "git ls-files -o | xargs -n1 echo rm", "git clean -n | wc -l"), checks.untracked),
    Rule("git.push-force", "git", r"^git push ", "rewrites a branch on the remote", _H, _SHARED,
         ("git push --force", "git push origin main -f", "git push origin +main", "git push --mirror", "git push --force=true", "git push --force-with-lease origin x", 'git push origin +HEAD:"$b"', 'git push origin "+$b"'), ("git push origin main", "git push -u origin x", "git push -n --force", 'git push origin "$b"', 'git push origin HEAD:"$b"'),
         when=lambda call: _pushes(call, "+") or call.args.has("--force", "--force-with-lease", "--mirror", "--prune")),
    Rule("git.push-delete", "git", r"^git push ", "deletes a branch or tag on the remote", _H, _SHARED, ("git push origin --delete x", "git push origin :main", "git push -d origin v1", 'git push origin ":$x"', 'git push origin --delete "$b"', "git branch -r | xargs -I{} git push origin :{}", 'git push origin HEAD:main +:"$old"'),
         ("git push origin a:b", "git push git@h:o/r.git main", 'git push origin "$a:$b"', "git push origin :", 'git push -n origin ":$x"', 'git fetch origin ":$x"'), when=lambda call: _pushes(call, ":", "+:") or call.args.has("--delete")),
    Rule("git.branch-delete", "git", r"^git branch (?:.* )?-D\b|^git branch (?=.*--delete\b).*--force\b|^git branch (?:.* )?-(?:M|C)\b|^git branch (?:.* )?--force -- \S+ \S+", "deletes or overwrites a branch, merged or not", _M, _UNREACHABLE,
         ("git branch -D x", "git branch --delete --force x", "git branch -df x", "git branch -f main HEAD~3"), ("git branch -d x", "git branch -m a b", "git branch --list")),
    Rule("git.checkout-force", "git", r"^git (?:checkout|switch) (?:.* )?--(?:force|discard-changes)\b", "changes branch and throws away changes", _H, _WORK, ("git checkout -f main", "git switch -f main", "git switch --discard-changes x"), ("git checkout main", "git checkout -- package-lock.json", "git checkout -- dist", "git checkout -b x", "git switch -cf")),
    Rule("git.checkout-files", "git", r"^git checkout .*--(?: |$)", "overwrites files with committed ones", _M, _WORK, ("git checkout -- f", "git checkout .", "git checkout HEAD -- a.txt", "git checkout HEAD~1 src/a.py", "git checkout --pathspec-from-file=x"),
         ("git checkout main", "git checkout -b x", "git checkout --recurse-submodules=checkout main", "git checkout -t origin/x", "git checkout -p"), when=lambda call: not _made_again(call) and _overwrites(call.argv, call.args.operands, call.args.has("-b", "-B", "--orphan", "--patch", "-l", "--detach", "--track", "--force"), call.args.has("--pathspec-from-file"))),
    Rule("git.checkout-reset", "git", r"^git (?:checkout (?:.* )?-B=|switch (?:.* )?--force-create=)", "moves an existing branch", _M, _UNREACHABLE, ("git checkout -B main origin/x", "git switch -C main"), ("git checkout -b x",)),
    Rule("git.restore", "git", r"^git restore ", "overwrites files with committed ones", _M, _WORK, ("git restore f", "git restore --worktree --staged .", "git restore -s HEAD~1 f"), ("git restore --staged f", "git restore -S .", "git restore Cargo.lock", "git restore poetry.lock yarn.lock"), when=lambda call: not _made_again(call), unless=r"^git restore (?=.*--staged)(?!.*--worktree)|--patch"),
    Rule("git.stash-drop", "git", r"^git stash (?:drop|clear)\b", "deletes stashed changes", _M, _WORK, ("git stash drop", "git stash clear"), ("git stash", "git stash pop", "git stash show -p", "git stash list")),
    Rule("git.reflog", "git", r"^git reflog (?:delete|expire (?:.* )?--(?:expire|expire-unreachable|all|stale-fix)|drop)", "deletes the log of where branches were", _H, _UNREACHABLE, ("git reflog expire --expire=now --all", "git reflog delete HEAD@{1}"), ("git reflog", "git reflog show")),
    Rule("git.gc", "git", r"^git (?:gc (?:.* )?--(?:prune(?:=(?!never)|\b)|aggressive)|prune(?: --expire=\S*)?(?: --progress)?(?: --verbose)? --|repack (?:.* )?-\w*[ad])", "collects unreachable commits at once", _M, "What a reflog or fsck could bring back is gone.", ("git gc --prune=now", "git gc --prune=now --aggressive", "git prune"), ("git gc", "git prune -n", "git gc --auto"), unless="prune=never"),
    Rule("git.rewrite", "git git-filter-repo bfg git-filter-branch java", r"^git (?:filter-branch|filter-repo|replay|fast-import .*--force|replace --delete)|^git-filter-\w+|^bfg\b|^java .*bfg", "rewrites all history", _H, _SHARED, ("git filter-branch --tree-filter 'ls' HEAD", "git filter-repo --path x", "bfg --delete-files x"), ("git log", "git filter-repo --help")),
    Rule("git.update-ref", "git", r"^git (?:update-ref (?:.* )?(?:-d|--delete|--stdin)\b|symbolic-ref (?:.* )?--delete)", "deletes a reference", _H, _UNREACHABLE, ("git update-ref -d HEAD", "git update-ref --delete refs/heads/x"), ("git update-ref refs/x HEAD", "git symbolic-ref HEAD")),
    Rule("git.remote-remove", "git", r"^git remote (?:.* )?(?:-- )?(?:remove|rm|set-url|prune)\b", "changes or removes a remote", Severity.LOW, "Later pushes and pulls go elsewhere.", ("git remote remove origin",), ("git remote -v", "git remote add o u")),
    Rule("git.worktree-remove", "git", r"^git worktree remove (?:.* )?--force|^git submodule deinit (?:.* )?--(?:force|all)", "removes a working tree with its changes", _M, _WORK, ("git worktree remove -f ../x", "git submodule deinit -f --all"), ("git worktree list", "git worktree remove x")),
    Rule("git.rm", "git", r"^git rm (?:.* )?(?:-r\b.*--force|--force\b.*-r\b)(?!.*--cached)", "deletes tracked files with their changes", _M, _WORK, ("git rm -rf src",), ("git rm --cached f", "git rm f", "git rm -rfn src"), unless="--cached|--dry-run"),
    Rule("git.tag-delete", "git", r"^git tag (?:.* )?--(?:delete|force)\b", "deletes or moves a tag", _M, "Releases that others know by that tag change.", ("git tag -d v1", "git tag -f v1"), ("git tag v1", "git tag -l 'v*-force'", "git tag -a v1 -m x")),
    Rule("git.hooks-path", "git", r"^git config (?:.* )?-- (?:set )?(?:core\.hookspath|core\.hooksPath|core\.fsmonitor|core\.sshcommand|core\.sshCommand|core\.gitproxy|filter\.\S+\.(?:clean|smudge)|url\.\S+\.insteadof|url\.\S+\.insteadOf|http\.sslverify|http\.sslVerify|credential\.helper|protocol\.\S+\.allow|include\.path) \S", "sets a program that git runs, or where it sends", _M, "Code runs at each git command, or data goes elsewhere.",
         ("git config --global core.hooksPath ~/h", "git config credential.helper '!x'"), ("git config user.name x", "git config --get core.hooksPath", "git config -l", "git config --global credential.helper cache"), unless=r"--(?:get|list|unset)|credential\.helper (?:cache|store|osxkeychain|manager|libsecret|wincred|gnome-keyring|manager-core|\"\")|(?:sslVerify|sslverify) true"),
    Rule("git.notes-lfs", "git", r"^git (?:lfs (?:prune|migrate)|notes (?:.* )?(?:remove|prune)|svn -- dcommit|p4 -- submit|annex -- (?:drop|unused|dropunused))\b", "removes stored objects or notes", _M, _UNREACHABLE, ("git lfs migrate import --everything", "git lfs prune"), ("git lfs ls-files", "git lfs prune --dry-run")),
    Rule("git.hg-svn", "hg svn jj p4 cvs bzr fossil sl", r"^(?:hg (?:.* )?(?:strip|purge|revert|update (?:.*-C|.*--clean)|push .*(?:-f|--force)|rollback|histedit)|svn (?:.* )?(?:revert .*-R|delete|rm|cleanup .*--remove)|jj (?:abandon|op (?:undo|restore|abandon)|git push .*--(?:delete|deleted)|bookmark delete)|p4 (?:obliterate|revert|client -d|depot -d)|fossil (?:purge|revert)|sl (?:hide|clean|purge|revert))\b", "throws away changes or history", _M, _WORK,
         ("hg strip tip", "hg update -C", "svn revert -R .", "jj abandon", "p4 obliterate -y //d/...", "hg purge"), ("hg status", "svn log", "jj log", "hg purge --print", "p4 obliterate //d/..."), unless=r"^hg (?:.* )?purge .*(?:--print|-p)\b|^p4 obliterate (?!.*-y)"),
    Rule("git.plumbing", "git", r"^git (?:read-tree (?:.* )?--reset|checkout-index (?:.* )?(?:-f|--force)\b|annex (?:.* )?(?:drop|uninit|dropunused)\b|svn (?:.* )?reset|config (?:.* )?(?:init\.templatedir|init\.templateDir) \S)", "overwrites files or commits by git's inner commands", _M, _WORK, ("git read-tree -u --reset HEAD", "git checkout-index -f -a", "git svn reset -r 5", "git annex drop --force x", "git config --global init.templateDir /tmp/t"), ("git read-tree HEAD", "git annex get x", "git svn fetch", "git config --get init.templateDir")),
    Rule("git.store", "rm mv unlink truncate > @empty", "", "takes a repository's own files away", _H, _WORK, ("mv .git /tmp/x", "rm -f .git/index", "rm .git/HEAD"), ("rm -f .git/index.lock", "rm .gitignore", "mv a .github/x"), when=lambda call: call.name in {"rm", "mv", "unlink", "truncate", "@empty"} and any(re.search(r"(?:^|/)\.git(?:/(?:index|HEAD|refs|objects|config|packed-refs|logs|worktrees|modules)(?:/.*)?)?/?$", word) and call.kind(word) is not Kind.SCRATCH for word in (call.args.operands[:-1] if call.name == "mv" else call.args.operands))),
)  # fmt: skip


def _pushes(call: Call, *marks: str) -> tuple[str, ...]:
    """What is pushed with one of the marks before it; what follows the mark may be unknown."""
    words = call.args.operands if call.args.has("--repo") else call.args.operands[1:]
    return tuple(word for word in words if any(word.startswith(mark) and len(word) > len(mark) for mark in marks))


def _made_again(call: Call) -> bool:
    """Tell whether all that is named are lock files or products of a build."""
    named = call.argv[call.argv.index("--") + 1 :] if "--" in call.argv else call.args.operands
    return bool(named) and all(call.kind(word) is Kind.BUILD for word in named)


def _overwrites(argv: list[str], operands: list[str], other: bool, from_file: bool) -> bool:
    """Tell whether a checkout names files (after ``--``, or by their look) rather than a branch."""
    if from_file:
        return True
    after = argv[argv.index("checkout") + 1 :] if "checkout" in argv else []
    if "--" in after:
        return after[-1] != "--"
    if other or not operands:
        return False
    if len(operands) > 1 and operands[0] not in {"on-demand", "direct", "inherit"}:
        return True
    return (
        operands[-1] in {".", "*", "./", ":/", "'*'"} or operands[-1].startswith("./") or operands[-1].startswith(":(")
    )


_LOCAL = frozenset(
    ["git.reset-hard", "git.clean", "git.branch-delete", "git.checkout-force", "git.checkout-files", "git.checkout-reset", "git.restore", "git.stash-drop",
     "git.reflog", "git.gc", "git.rm", "git.update-ref", "git.tag-delete"]
)  # fmt: skip
"""Rules on what a clone alone can lose."""


def _not_scratch(check: Check | None) -> Check:
    """Make a check that does not concern clones in scratch directories."""

    def kept(call: Call) -> bool | tuple[str, ...]:
        where = call.inv.cwd
        for at, word in enumerate(call.argv[:-1]):
            if word == "-C":
                folder = call.argv[at + 1]
                where = folder if folder[:1] in "/~\ue000" else f"{where}/{folder}"
        if where != "." and classify(f"{where}/x") is Kind.SCRATCH and ".." not in where:
            return False
        return check(call) if check is not None else True

    return kept


RULES: tuple[Rule, ...] = tuple(
    replace(rule, when=_not_scratch(rule.when)) if rule.id in _LOCAL else rule for rule in _ALL
)
