#!/usr/bin/env python3
"""Makes the table of issuers of keys and tokens from the rules of betterleaks and gitleaks.

    scripts/issuers.py BETTERLEAKS_CLONE GITLEAKS_CLONE

Reads `config/betterleaks.toml` and `config/gitleaks.toml` of the two git clones at their HEAD (bare ones do as well), and writes

    src/published.tsv       what the crate reads
    fixtures/rules.tsv      the expressions as published, from which the test makes secrets

A rule is sorted into one of these kinds:

    shape        the secret is known by a keyword in it
    context      the secret is plain, and known by the issuer's name in front of it
    assignment   only a word such as `secret` or `key` stands in front: what src/assignment finds
    built-in     rules of other files of src find it: blocks of private keys, web tokens, addresses, headers
    public       no secret: a client id, the name of a host
"""

import re
import re._constants as sre
import re._parser as parser
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIE = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
OPERATOR = r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""
ENDS = [
    r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)""",
    r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""",
    r"""(?:[\x60'"\s;]|\\[nr]|$)""",
]
GENERIC = {"secret", "access", "key", "token", "app", "application", "consumer", "password", "administrator_login_password",
           "private", "api", "auth", "credential", "x-api-key", "client", "tenant", "accountkey", "accountname"}
# Found by rules of our own, which need no table.
BUILT_IN = {"private-key", "jwt", "jwt-base64", "curl-auth-header", "curl-auth-user", "mongodb-connection-string", "gcp-service-account",
            "gcp-application-default-credentials", "kubernetes-secret-yaml", "nuget-config-password", "sidekiq-sensitive-url",
            "temporal-cloud-api-key", "scalr-api-access-token", "freemius-secret-key", "azure-servicebus-connection-string",
            "azure-app-configuration-connection-string", "azure-storage-account-key", "gitlab-session-cookie"}
# Shapes that own.tsv has: it keeps the address of the host.
OWN = {"slack-webhook-url", "microsoft-teams-webhook"}
# What own.tsv calls otherwise.
NAMES = {"azure-ad-client-secret": "azure-secret", "hashicorp-tf-api-token": "terraform-token"}
PUBLIC = {"artifactory-jfrog-url", "azure-client-id", "azure-tenant-id", "azure-storage-account-name", "supabase-project-url",
          "salesforce-instance-url", "snowflake-account-host", "tableau-server-host", "tableau-personal-access-token-name",
          "cloudinary-cloud-name", "pkcs12-file", "flutterwave-public-key"}
# Where `place_of` finds no keyword.
PLACES = {r"[0-9]{15,16}[%|][\-0-9A-Z_a-z]{27,40}": (",".join(digit + sign for digit in "0123456789" for sign in "%|"), "14-15")}
# How many keywords a rule may have, how short they may be so that another byte is added, and how far into a key they may stand.
MAX_WAYS = 150
MIN_KEYWORD = 4
MAX_LEAD = 200


def inline_flags(regex):
    """Go lets `(?i)` stand anywhere; Python wants a group."""
    while True:
        found = re.search(r"(?<!\\)\(\?(i|s|is|si)\)", regex)
        if not found:
            return regex
        depth, at, in_class = 0, found.end(), False
        while at < len(regex):
            char = regex[at]
            if char == "\\":
                at += 2
                continue
            if in_class:
                in_class = char != "]"
            elif char == "[":
                in_class = True
            elif char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    break
                depth -= 1
            at += 1
        regex = f"{regex[:found.start()]}(?{found[1]}:{regex[found.end():at]}){regex[at:]}"


def parse(regex):
    regex = regex.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    return parser.parse(inline_flags(regex), re.ASCII)


def members(items, ignore_case):
    found = set()
    for kind, value in items:
        if kind is sre.LITERAL:
            found.add(value)
        elif kind is sre.RANGE:
            found.update(range(value[0], value[1] + 1))
        elif kind is sre.CATEGORY:
            pattern = {sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_WORD: r"\w", sre.CATEGORY_SPACE: " ", sre.CATEGORY_NOT_SPACE: r"\S"}[value]
            found.update(code for code in range(32, 127) if re.match(pattern, chr(code)))
        elif kind is sre.NEGATE:
            raise ValueError("negated class")
    if ignore_case:
        found |= {ord(chr(code).swapcase()) for code in found}
    return frozenset(found)


def expand(tree, ignore_case=False):
    """All sequences of literals and classes: ("text", byte, ignores case) and ("class", bytes, least, most)."""
    sequences = [[]]
    for kind, value in tree:
        if kind is sre.LITERAL:
            parts = [[("text", value, ignore_case)]]
        elif kind is sre.IN:
            parts = [[("class", members(value, ignore_case), 1, 1)]]
        elif kind is sre.ANY:
            parts = [[("text", ord("."), False)]]
        elif kind is sre.AT:
            parts = [[]]
        elif kind is sre.SUBPATTERN:
            _, add, remove, inner = value
            now = (ignore_case or bool(add & re.IGNORECASE)) and not remove & re.IGNORECASE
            parts = expand(inner, now)
        elif kind is sre.BRANCH:
            parts = [part for inner in value[1] for part in expand(inner, ignore_case)]
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            least, most, inner = value
            repeated = expand(inner, ignore_case)
            most = 4096 if most is sre.MAXREPEAT else int(most)
            only = repeated[0][0] if len(repeated) == 1 and len(repeated[0]) == 1 else None
            if only and only[0] == "class" and only[2] == only[3] == 1:
                parts = [[("class", only[1], least, most)]]
            elif only and only[0] == "text":
                codes = {only[1], ord(chr(only[1]).swapcase())} if only[2] else {only[1]}
                parts = [[("class", frozenset(codes), least, most)]]
            elif most <= 5:
                parts = [[]]
                sums = [[]] if least == 0 else []
                for count in range(1, most + 1):
                    parts = [one + two for one in parts for two in repeated]
                    sums += parts if count >= least else []
                parts = sums
            else:
                raise ValueError("repeated group")
        else:
            raise ValueError(str(kind))
        sequences = [one + two for one in sequences for two in parts]
        if len(sequences) > 40:
            raise ValueError("too many alternatives")
    return sequences


def text_of(code):
    char = chr(code)
    return "\\" + char if char in "\\[]{}()|.*+?^$" else char


def class_of(codes):
    text, codes = "", sorted(codes)
    at = 0
    while at < len(codes):
        end = at
        while end + 1 < len(codes) and codes[end + 1] == codes[end] + 1:
            end += 1
        first, last = (("\\" if chr(codes[i]) in "\\]^-" else "") + chr(codes[i]) for i in (at, end))
        text += first if end == at else f"{first}-{last}" if end > at + 1 else first + last
        at = end + 1
    return f"[{text}]"


def pattern_of(sequence):
    sequence = merge(sequence)
    ignores = any(part[0] == "text" and part[2] and chr(part[1]).isalpha() for part in sequence)
    text = "(?i)" if ignores else ""
    for part in sequence:
        if part[0] == "text":
            text += text_of(part[1])
            continue
        _, codes, least, most = part
        count = "" if least == most == 1 else f"{{{least}}}" if least == most else f"{{{least},{most}}}"
        text += class_of(codes) + count
    return text


def merge(sequence):
    merged = []
    for part in sequence:
        last = merged[-1] if merged else None
        if part[0] == "class" and len(part[1]) == part[2] == part[3] == 1:
            merged.append(("text", min(part[1]), False))
        elif part[0] == "class" and last and last[0] == "class" and last[1] == part[1]:
            merged[-1] = ("class", part[1], last[2] + part[2], last[3] + part[3])
        else:
            merged.append(part)
    return merged


def longest_text(sequence):
    best = run = 0
    for part in sequence:
        run = run + 1 if part[0] == "text" else 0
        best = max(best, run)
    return best


def spell_out(sequence):
    """Each way to write what has `[_-]?` in it."""
    ways = [[]]
    for part in sequence:
        if part[0] == "class" and part[3] == 1 and len(part[1]) <= 4:
            choices = [[("text", code, False)] for code in sorted(part[1])] + [[]] * (part[2] == 0)
            ways = [way + choice for way in ways for choice in choices]
        else:
            ways = [way + [part] for way in ways]
    return ways


def leading_words(tree):
    words = set()
    for sequence in (way for sequence in expand(tree) for way in spell_out(sequence)):
        word = ""
        for part in sequence:
            if part[0] != "text":
                break
            word += chr(part[1])
        word = word.lower().strip("_.- ")
        words.add({"poly": "polymarket"}.get(word, word))
    words = {word for word in words if len(word) >= 3 and word not in GENERIC}
    return sorted(word for word in words if not any(other != word and other in word for other in words))


def strip_ends(regex):
    for end in ENDS:
        regex = regex.removesuffix(end)
    regex = re.sub(r"\(\?:\$?\|?\[\^[^\]]*\](?:\|\$|\|\\z)?\)$", "", regex)
    return re.sub(r"\(\?:\$\|\[[^\]]*\]\)$", "", re.sub(r"^\(\?:\^\|\[[^\]]*\]\)", "", regex))


def sort_rule(rule):
    """The kind of a rule, its words, its patterns, and the expression of the secret."""
    name = rule["id"].split(".")[0]
    regex = rule.get("regex", "").strip()
    if rule.get("skipReport") or name in PUBLIC:
        return "public", [], [], ""
    if name in BUILT_IN:
        return "built-in", [], [], ""
    if name == "generic-api-key":
        return "assignment", [], [], ""
    tie = regex.find(TIE)
    words = []
    if tie >= 0:
        front, rest = regex[:tie], regex[tie + len(TIE):]
        wrapped = rest.startswith(")")
        rest = rest.removeprefix(")")
        if rest.startswith(OPERATOR):
            rest = rest[len(OPERATOR):]
        front = re.sub(r"^\(\?i\)\[\\w\.-\]\{0,50\}\?", "(?i)", front)
        front = front + ")" if wrapped else front
        try:
            words = leading_words(parse(cut_gap(front)))
        except ValueError:
            words = []
        ignore = "(?i)" if regex.startswith("(?i)") else ""
        alternatives = rest.split(")" + ENDS[0] + "|")
        regex = ignore + rest
        secret = ignore + strip_ends(alternatives[0] + (")" if len(alternatives) > 1 else ""))
        kind = "context" if words else "assignment"
        if len(alternatives) > 1:
            extra = strip_ends(alternatives[1])
            return kind, words, expand_secret(secret) , secret, expand_secret(extra), extra
    else:
        near = re.match(r"\(\?i\)\(?(?:\?:)?\\b(?:\(\?:)?([a-z]+)", regex)
        if near and "(?:.|[\\n\\r])" in regex:
            words = [near[1]]
            value = re.search(r"\(\[[^()]*\)(?:\\b)?$", strip_ends(regex))
            secret = "(?i)" + value[0].removesuffix("\\b")
            return "context", words, expand_secret(secret), secret
        proximity = re.match(r"\(\?i:(\w+)\)\[\\s\\S\]\{0,32\}\?\\b(\(.*?\))", regex)
        if proximity:
            return "context", [proximity[1]], expand_secret(proximity[2]), proximity[2]
        secret = strip_ends(regex)
        kind = "shape"
    return kind, words, expand_secret(secret), secret


def cut_gap(front):
    """Up to a gap of any bytes, with the groups closed that are open there."""
    gap = re.search(r"\.\{0,20\}", front)
    if not gap:
        return front
    front = front[:gap.start()]
    opened = 0
    for at, char in enumerate(front):
        if front[at - 1:at] != "\\":
            opened += (char == "(") - (char == ")")
    return front + ")" * opened


def expand_secret(regex):
    tree = parse(regex)
    ignore = bool(tree.state.flags & re.IGNORECASE)
    if any(True for _ in top_groups(tree, ignore)):
        return [merge(one) for now, inner in top_groups(tree, ignore) for one in expand(inner, now)]
    return [merge(one) for one in expand(tree, ignore)]


def top_groups(tree, ignore):
    for kind, value in tree:
        if kind is sre.SUBPATTERN:
            group, add, remove, inner = value
            now = (ignore or bool(add & re.IGNORECASE)) and not remove & re.IGNORECASE
            if group is not None:
                yield now, inner
            else:
                yield from top_groups(inner, now)
        elif kind is sre.BRANCH:
            for inner in value[1]:
                yield from top_groups(inner, ignore)


def tokens_of(pattern):
    """The parts of a pattern: a byte or a class, and how often it stands there at least and at most."""
    for found in re.finditer(r"(\[(?:\\.|[^\]\\])*\]|\\.|.)(?:\{(\d+)(?:,(\d+))?\})?", pattern.removeprefix("(?i)")):
        least = int(found[2] or 1)
        yield [chr(code) for code in range(32, 127) if re.fullmatch(found[1], chr(code))], least, int(found[3] or least)


def place_of(pattern):
    """The keywords of a pattern, one of which is in each of its keys, and how many bytes stand in front of it."""
    if pattern in PLACES:
        return PLACES[pattern]
    ways = [""]
    for members, least, most in tokens_of(pattern):
        if least != 1 or most != 1 or len(members) > 1 and (len(ways[0]) >= MIN_KEYWORD or len(ways) * len(members) > MAX_WAYS):
            break
        ways = [way + member for way in ways for member in members]
    if len(ways[0]) > 1:
        return ",".join(ways), "0"
    runs, text, front, length = [], "", (0, 0), (0, 0)
    for members, least, most in [*tokens_of(pattern), ([], 0, 0)]:
        if len(members) == least == most == 1:
            text += members[0]
        else:
            runs.append((text, front))
            text, front = "", (length[0] + least, length[1] + most)
        length = length[0] + least, length[1] + most
    text, (least, most) = max((run for run in runs if run[1][1] <= MAX_LEAD), key=lambda run: len(run[0]))
    if len(text) < 2:
        raise ValueError(f"`{pattern}` has no keyword")
    return text, f"{least}" if least == most else f"{least}-{most}"


def git(clone, *words):
    return subprocess.run(["git", "-C", clone, *words], check=True, capture_output=True, text=True).stdout


def main():
    sources, rules, seen = [], [], set()
    for name, clone in zip(("betterleaks", "gitleaks"), sys.argv[1:3], strict=True):
        commit, date = git(clone, "log", "-1", "--format=%H %cs").split()
        licence = git(clone, "show", "HEAD:LICENSE").splitlines()
        sources.append(f"https://github.com/{name}/{name}, config/{name}.toml of commit {commit} ({date}), "
                       f"{licence[0]}, {next(line for line in licence if line.startswith('Copyright'))}")
        for rule in tomllib.loads(git(clone, "show", f"HEAD:config/{name}.toml"))["rules"]:
            if rule["id"] not in seen:
                seen.add(rule["id"])
                rules.append(rule)
    lines, table, counts = [], [], {}
    for rule in rules:
        name = rule["id"].split(".")[0]
        kind, words, sequences, secret, *extra = sort_rule(rule)
        if kind == "shape" and min(map(longest_text, sequences)) < 2 and name != "facebook-access-token":
            raise ValueError(f"{name} has no literal: {secret}")
        counts[kind] = counts.get(kind, 0) + 1
        table.append("\t".join([rule["id"], kind, "|".join(words), secret]))
        for sequence in sequences if kind in ("shape", "context") and name not in OWN else []:
            place = (",".join(words), "after") if kind == "context" else place_of(pattern_of(sequence))
            lines.append("\t".join([NAMES.get(name, name), *place, "words", pattern_of(sequence)]))
        if extra:
            table.append("\t".join([rule["id"], "shape", "", extra[1]]))
            lines += ["\t".join([name, *place_of(pattern_of(sequence)), "words", pattern_of(sequence)]) for sequence in extra[0]]
    head = ["# Issuers of keys and tokens, and what these look like. Made by scripts/issuers.py: change that, or own.tsv beside it.", "#"]
    head += [f"# From {source}." for source in sources]
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    head += [f"# {len(rules)} rules: {summary}.", "#"]
    body = ["# RULE<tab>KEYWORDS<tab>PLACE<tab>CHECK<tab>PATTERN, as src/issuers.rs says."]
    for path, text in ((ROOT / "src/published.tsv", head + body + list(dict.fromkeys(lines))),
                       (ROOT / "fixtures/rules.tsv", head + ["# id, kind, words in front, expression of the secret"] + table)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text) + "\n")
    print(summary)


if __name__ == "__main__":
    main()
