# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the loops of C and C++ text: a tokenizer, and a parser that knows statements but no declarations.

It works on sources that need not compile (every #if branch but `#if 0`, macro bodies, all platforms), because the
labels must not depend on the compiler or the configuration that a detector happens to use.
"""
import re

TOKEN = re.compile(r"""(?sx) (?P<ws>[ \t\r\f\v]+|\\\r?\n) | (?P<nl>\n) | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)) |
    (?P<raw>R"(?P<tag>[^(\s"]{0,16})\(.*?\)(?P=tag)") | (?P<str>"(?:\\.|[^"\\\n])*"?) | (?P<chr>'(?:\\.|[^'\\\n])*'?) |
    (?P<num>\.?\d(?:[\w.]|(?<=[eEpP])[+-])*) | (?P<id>[A-Za-z_]\w*) |
    (?P<op>->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||::|.)""")
DIRECTIVE = re.compile(r"(?m)^[ \t]*\#[ \t]*(\w*)((?:\\\r?\n|/\*(?:[^*]|\*(?!/))*\*/|[^\n])*)")


def tokens(text, line=1):
    """Returns the tokens of a piece of source as (text, line), without comments, strings and directives."""
    out, asm = [], 0
    for m in TOKEN.finditer(text):
        kind, t = m.lastgroup, m.group()
        kind = "raw" if kind == "tag" else kind
        if kind in ("id", "num", "op"):
            out.append((t, line))
            asm = 1 if t in ("asm", "__asm__", "__asm") else asm and t != ";"
        elif kind == "str" and asm and re.search(r"\b(pause|rep\s*;\s*nop|yield|wfe|rep nop)\b", t):
            out.append(("asm_hint", line))
        elif kind in ("str", "raw", "chr"):
            out.append(('""', line))
        line += t.count("\n")
    return out


def streams(text):
    """Yield (macro name or '', tokens): first the file with #if/#else/#endif marks, then the body of each #define."""
    main, macros, pos, line, dead = [], [], 0, 1, 0
    # A comment may hold a line that looks like a directive: blank comments first.
    text = re.sub(r'(?s)"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n]){1,4}\'|//[^\n]*|/\*.*?\*/',
                  lambda m: m.group() if m.group()[0] in "\"'" else "\n" * m.group().count("\n") or " ", text)
    for m in DIRECTIVE.finditer(text):
        if not dead:
            main += tokens(text[pos:m.start()], line)
        line += text.count("\n", pos, m.start())
        word, rest = m.group(1), m.group(2)
        if dead:  # inside #if 0
            dead += word.startswith("if")
            dead = 0 if dead == 1 and word in ("else", "elif") else dead - (word == "endif")
            if not dead and word == "endif":
                main.append(("#endif", line))
            elif not dead:
                main.append(("#else", line))
        elif word.startswith("if"):
            dead = int(rest.strip() == "0")
            main.append(("#if", line))
        elif word in ("else", "elif", "endif"):
            main.append(("#endif" if word == "endif" else "#else", line))
        elif word == "define":
            name = re.match(r"\s*(\w+)(\([^)]*\))?", rest)
            if name:
                macros.append((name.group(1), tokens(rest[name.end():], line + rest.count("\n", 0, name.end()))))
        line += m.group().count("\n")
        pos = m.end()
    main += [] if dead else tokens(text[pos:], line)
    yield "", main
    yield from macros


def close(tok, i):
    """Returns the index of the bracket that closes tok[i]; each #else starts again from the depth of its #if."""
    depth, saved = 0, []
    opens, shuts = ("{", "}") if tok[i][0] == "{" else ("(", ")")
    for j in range(i, len(tok)):
        t = tok[j][0]
        if t == opens:
            depth += 1
        elif t == shuts:
            depth -= 1
            if depth <= 0:
                return j
        elif t == "#if":
            saved.append(depth)
        elif t == "#else" and saved:
            depth = saved[-1]
        elif t == "#endif" and saved:
            saved.pop()
    return len(tok) - 1  # unclosed: all the rest belongs to it


def skip(tok, i):
    while i < len(tok) and tok[i][0][0] == "#":
        i += 1
    return i


def statement(tok, i, nest=0):
    """Returns the index of the last token of the statement that starts at i."""
    i, last = skip(tok, i), len(tok) - 1
    if i >= last or nest > 60:
        return last
    t = tok[i][0]
    if t == "{":
        return close(tok, i)
    if t in ("if", "for", "while", "switch"):
        p = i + 1 + (tok[i + 1][0] == "constexpr")
        end = statement(tok, close(tok, p) + 1, nest + 1) if tok[p][0] == "(" else p
        e = skip(tok, end + 1)
        return statement(tok, e + 1, nest + 1) if t == "if" and e <= last and tok[e][0] == "else" else end
    if t == "do":
        end = skip(tok, statement(tok, i + 1, nest + 1) + 1)
        return min(close(tok, end + 1) + 1, last) if end < last and tok[end][0] == "while" else min(end, last)
    j = i
    while j <= last:
        t = tok[j][0]
        if t == ";":
            return j
        if t == "}":
            return j - 1
        if t in "({":
            k = close(tok, j)
            if t == "{" and tok[j - 1][0] == ")":
                return k
            j = k
        j += 1
    return last


def function_ends(tok):
    """Returns where functions end: at the end of a block after `)` and the like, outside any other such block."""
    ends, i = [], 0
    while i < len(tok):
        if tok[i][0] == "{" and i and tok[i - 1][0] in (")", ";", "const", "noexcept", "override", "final", "#endif"):
            i = close(tok, i)
            ends.append(i)
        i += 1
    return ends


def constant(cond):
    """`while (0)` is an idiom of macros and no loop; YYID is what bison writes for it."""
    return bool(cond) and all(t in ("0", "false", "YYID", "(", ")") for t, _ in cond)


def loops(tok):
    """Yield (form, first, condition tokens, body range, last) for each loop, outer before inner."""
    tails, labels, n, ends = set(), {}, len(tok), function_ends(tok)
    for i, (t, _) in enumerate(tok):
        if t in ("for", "while") and i + 1 < n and tok[i + 1][0] == "(" and i not in tails:
            c = close(tok, i + 1)
            if constant(tok[i + 2:c]):
                continue
            yield t, i, tok[i + 2:c], (c + 1, statement(tok, c + 1)), None
        elif t == "do" and i + 1 < n and tok[i + 1][0] not in (",", ")", ";"):
            b = statement(tok, i + 1)
            w = skip(tok, b + 1)
            if w + 1 < n and tok[w][0] == "while":
                tails.add(w)
                c = close(tok, w + 1)
                cond = tok[w + 2:c]
                if not constant(cond):
                    yield t, i, cond, (i + 1, b), c
        elif t == ":" and 2 <= i < n - 1 and tok[i - 1][0].isidentifier() and (
                tok[i - 2][0] in (";", "}", "{", ":") or tok[i - 2][0][0] == "#"):
            labels[tok[i - 1][0]] = i - 1
        elif t == "goto" and i + 1 < n and tok[i + 1][0] in labels:
            first = labels[tok[i + 1][0]]
            if tok[i][1] - tok[first][1] < 200 and not any(first < end < i for end in ends):
                yield "goto", first, [], (first + 2, i), i
