"""The house rules as functions from source text to violations. `test_tidy` applies them."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping

__all__ = [
    "core_violations",
    "forbidden_words",
    "layer_violations",
    "lines_violations",
    "orphans",
    "print_violations",
    "public_names_violations",
    "version_violations",
]

MAX_LINES = 400

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "redact"}),
    frozenset({"core"}),
    frozenset({"envelope", "logs"}),
    frozenset({"config", "writer"}),
    frozenset({"journals", "kafka", "readmodels"}),
    frozenset({"relay", "projections", "verify", "status"}),
    frozenset({"demo"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
"""Parts of the package, lowest first. A part imports from itself and from lower layers only."""

ENTRY_MODULES = (
    "bridge",
    "bridge.__main__",
    "bridge.cli",
    "bridge.writer",
    "bridge.journals.memory",
    "bridge.kafka.memory",
    "bridge.projections",
)
"""What users run or import, tests of their own included: every other module has to be reached from
here."""

_IMPURE_MODULES = frozenset(
    [
        "asyncio",
        "io",
        "logging",
        "os",
        "pathlib",
        "random",
        "secrets",
        "shutil",
        "socket",
        "sqlite3",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
    ]
)
_IMPURE_FUNCTIONS = frozenset({"input", "open", "print"})
_CLOCK_METHODS = frozenset({"now", "today", "utcnow"})
_FORBIDDEN_WORDS = re.compile(rf"\b({'todo|fixme|xxx'.upper()})\b")  # not to find itself


def _imports(module: str, source: str) -> Iterator[str]:
    """Dotted names that a module imports; for ``from a import b`` both ``a`` and ``a.b``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{module}: line {node.lineno}: relative import")
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _called_names(source: str) -> Iterator[tuple[int, ast.expr]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield node.lineno, node.func


def _part(module: str) -> str | None:
    """Part of the package that a module belongs to; None for the package itself and strangers."""
    names = module.split(".")
    return names[1] if names[0] == "bridge" and len(names) > 1 else None


def _rank(part: str) -> int | None:
    return next((rank for rank, parts in enumerate(LAYERS) if part in parts), None)


def layer_violations(module: str, source: str) -> list[str]:
    """Imports from a higher layer or from a neighbour in the same one."""
    mine = _part(module)
    if mine is None:
        return []
    rank = _rank(mine)
    if rank is None:
        return [f"{module}: give bridge.{mine} a layer in tests/tidy.py"]
    imported = {part for name in _imports(module, source) if (part := _part(name)) is not None}
    ranks = {part: _rank(part) for part in imported - {mine}}
    return [
        f"{module}: must not import bridge.{part}"
        for part, other in sorted(ranks.items())
        if other is not None and other >= rank
    ]


def core_violations(module: str, source: str) -> list[str]:
    """What makes a module of the core impure: foreign imports, clock, chance, I/O, await."""
    found = [
        f"{module}: imports {name}"
        for name in _imports(module, source)
        if not name.startswith(("bridge.core", "bridge.errors"))
        and ((top := name.split(".")[0]) in _IMPURE_MODULES or top not in sys.stdlib_module_names)
    ]
    for line, function in _called_names(source):
        match function:
            case ast.Name(id=name) if name in _IMPURE_FUNCTIONS:
                found.append(f"{module}: line {line}: calls {name}")
            case ast.Attribute(attr=name) if name in _CLOCK_METHODS:
                found.append(f"{module}: line {line}: calls .{name}")
    asynchronous = ast.AsyncFunctionDef | ast.Await
    found += [
        f"{module}: line {node.lineno}: asynchronous"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, asynchronous)
    ]
    return found


def print_violations(module: str, source: str) -> list[str]:
    """Calls of print outside the command line."""
    if _part(module) == "cli":
        return []
    return [
        f"{module}: line {line}: print"
        for line, function in _called_names(source)
        if isinstance(function, ast.Name) and function.id == "print"
    ]


def lines_violations(module: str, source: str) -> list[str]:
    """Files that have grown too long to be read in one go."""
    count = len(source.splitlines())
    return [f"{module}: {count} lines, at most {MAX_LINES}"] if count > MAX_LINES else []


def public_names_violations(module: str, source: str) -> list[str]:
    """Modules without `__all__`; one that holds only a docstring needs none."""
    body = ast.parse(source).body
    assigned = {
        target.id
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    only_docstring = all(isinstance(node, ast.Expr) for node in body)
    return [] if only_docstring or "__all__" in assigned else [f"{module}: no __all__"]


def orphans(sources: Mapping[str, str]) -> list[str]:
    """Modules that no entry module reaches; a module's dotted name as a string counts too."""
    reached: set[str] = set()
    waiting = [name for name in ENTRY_MODULES if name in sources]
    while waiting:
        module = waiting.pop()
        if module in reached:
            continue
        reached.add(module)
        strings = {
            node.value
            for node in ast.walk(ast.parse(sources[module]))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        names = {*_imports(module, sources[module]), *strings, module.rpartition(".")[0]}
        waiting += [name for name in names if name in sources]
    return [f"{module}: nothing reaches it" for module in sorted(sources.keys() - reached)]


def forbidden_words(name: str, text: str) -> list[str]:
    """Markers of work that was put off."""
    lines = enumerate(text.splitlines(), start=1)
    return [
        f"{name}: line {number}: {found[0]}"
        for number, line in lines
        if (found := _FORBIDDEN_WORDS.search(line))
    ]


def version_violations(version: str, changelog: str) -> list[str]:
    """A version that the changelog does not know, while nothing is announced as unreleased."""
    headings = re.findall(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    known = version in headings or "Unreleased" in headings
    return [] if known else [f"CHANGELOG.md knows neither {version} nor Unreleased"]
