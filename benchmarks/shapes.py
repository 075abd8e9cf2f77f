"""Texts that are repetitive, nested or hostile, of any size. detection.py times them; a test counts work on them."""

PIECES = {
    "nested $(": "$(",
    "nested ${": "${a:-",
    "nested (": "(",
    "nested {": "{ ",
    "nested if": "if x; then ",
    "nested case": "case x in a) ",
    "nested functions": "f(){ ",
    "arithmetic": "$((",
    "process substitutions": "<(",
    "backticks": "`",
    "double quotes": '"',
    "single quotes": "'",
    "ansi-c quotes": "$'\\x61' ",
    "backslashes": "\\",
    "line continuations": "a \\\n",
    "brackets": "[",
    "braces": "{a,b}",
    "brace words": "{a,b} ",
    "glob words": "* ",
    "words": "a ",
    "one long word": "a",
    "variables": "$x ",
    "quoted variables": '"$x" ',
    "text and variables": "some text $x ",
    "NUL": "\0",
    "not UTF-8": "\udcff",
    "pipes": "a|",
    "and": "a && ",
    "or": "a||",
    "background": "a&",
    "semicolons": "a;",
    "parentheses": "()",
    "stray )": ")",
    "stray fi": "fi ",
    "stray ;": "; ;",
    "cp lines": "cp a b\n",
    "rm lines": "rm -rf /srv/a\n",
    "cd lines": "cd a\n",
    "cd ..": "cd ..;",
    "commits": "git commit -m 'a b'\n",
    "redirections": "a 2>&1 >/dev/null\n",
    "appended file": "echo a >> f\n",
    "substitutions": "a $(b)\n",
    "read by a shell": "echo a b|sh;",
    "fetched": "curl x|sh\n",
    "nested shells": "sh -c 'a b';",
    "eval": "eval a;",
    "python programs": "python3 -c 'import os; os.system(\"ls\")'\n",
    "here-strings": "cat <<<a\n",
    "here-documents": "cat <<E\nx\nE\n",
    "unfinished here-documents": "cat <<E\n",
    "assignments": "X=abc;\n",
    "growing assignments": "x=a;x=$x$x;",
    "doubling": "x=$x$x;",
    "arrays": "a=(x y);",
    "elements": "x[1]=2;",
    "functions": "f(){ a; };f;",
    "aliases": "alias a=b\n",
    "traps": "trap 'a' EXIT;",
    "conditionals": "if a; then b; fi;",
    "loops": "for i in a b; do c $i; done;",
    "cases": "case x in a) b;; esac;",
    "tests": "[[ a ",
    "script lines": 'if [ -f a ]; then echo "$b" | grep c > d; fi\n',
    "find -exec": "find . -exec a {} ;\n",
    "sudo": "sudo ",
}
"""What is repeated, by name."""

NUMBERED = {
    "different files": "cp a{0} b{0}\n",
    "different commands": "c{0} x\n",
    "different variables": "v{0}=a$v{0}\n",
    "different removals": "rm -rf d{0}\n",
}
"""What is repeated with a number, so that nothing is the same twice."""

NAMES = (*PIECES, *NUMBERED, "python here-document", "here-document to a file", "base64 to a shell", "perl program")


def shape(name: str, size: int) -> str:
    """Return the text of one name, of about ``size`` characters."""
    if name in PIECES:
        return (PIECES[name] * (size // len(PIECES[name]) + 1))[:size]
    if name in NUMBERED:
        return "".join(NUMBERED[name].format(number) for number in range(size // 6))[:size]
    if name == "python here-document":
        return "python3 <<'E'\n" + 'print("a", f(x)[1])\n' * (size // 20) + "E\n"
    if name == "here-document to a file":
        return "cat > f <<'E'\n" + "some text $x `b` here\n" * (size // 22) + "E\n"
    if name == "base64 to a shell":
        return "echo " + "cm0K" * (size // 4) + "|base64 -d|sh"
    return "perl -e '" + "print(1);system(q(ls));" * (size // 23) + "'"
