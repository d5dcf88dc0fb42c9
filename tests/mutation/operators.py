"""Mutants of a source file: one small edit each, as a person in a hurry would make it.

What no run can notice is not mutated: annotations, docstrings, assertions (they narrow types), what an error says, what
only a type checker reads, `device=` (there is one device here), `strict=` of zip, caches and options of dataclasses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.Pow: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
}
OTHER_NAMES = {
    one: other
    for pair in ("min max", "amin amax", "argmin argmax", "clamp_min clamp_max", "sum mean", "any all", "triu tril")
    for one, other in (pair.split(), pair.split()[::-1])
}
UNNOTICED_KEYWORDS = ("device", "strict")
COMMUTATIVE = ("min", "max", "minimum", "maximum", "equal", "isclose", "allclose", "relative_gap")
UNNOTICED_CALLS = ("dataclass", "lru_cache", "cast", "TypeVar", "isinstance", "super")


@dataclass(frozen=True)
class Mutant:
    """One edit: the whole lines it touches before and after, and the source that results."""

    file: str
    line: int
    end_line: int
    operator: str
    was: str
    now: str
    source: str
    scope: tuple[int, int]
    """First and last line of the innermost function around it, with its decorators; of the file, if there is none."""

    @property
    def identity(self) -> str:
        """Return what stays the same when lines above it move."""
        return f"{self.file}\t{self.operator}\t{self.was}\t{self.now}"


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return every mutant of one file, in the order of its lines, without those whose text is an earlier one's."""
    lines = source.splitlines(keepends=True)
    unique: dict[tuple[int, str], Mutant] = {}
    for operator, node, replacement, scope in _Edits(len(lines)).of(ast.parse(source)):
        start, end = node.lineno, node.end_lineno or node.lineno
        before = lines[start - 1].encode()[: node.col_offset].decode()
        after = lines[end - 1].encode()[node.end_col_offset :].decode()
        text = before + replacement + after
        changed = "".join([*lines[: start - 1], text, "\n" * (end - start), *lines[end:]])  # lines keep their numbers
        was, now = (" ".join(part.split()) for part in ("".join(lines[start - 1 : end]), text))
        if was != now:
            unique.setdefault((start, now), Mutant(file, start, end, operator, was, now, changed, scope))
    return sorted(unique.values(), key=lambda mutant: (mutant.line, mutant.operator, mutant.now))


def compiles(source: str) -> bool:
    """Tell whether a mutant is a program at all."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


Edit = tuple[str, ast.expr | ast.stmt, str, tuple[int, int]]


class _Edits:
    """Walk a tree and yield (operator, node to replace, its replacement, scope)."""

    def __init__(self, length: int) -> None:
        self.scope = (1, length)

    def of(self, node: ast.AST) -> Iterator[Edit]:
        """Yield the edits of a node and of what is below it."""
        if _is_unnoticed(node):
            return
        outer = self.scope
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            self.scope = (first, node.end_lineno or node.lineno)
        for operator, target, replacement in _edits(node):
            yield operator, target, replacement, self.scope
        for child in _children(node):
            yield from self.of(child)
        self.scope = outer


def _is_unnoticed(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.Raise() | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in UNNOTICED_CALLS:
            return True
        case ast.keyword(arg=name) if name in UNNOTICED_KEYWORDS:
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("__"):
            return True
        case ast.Assign(value=ast.BinOp(op=ast.BitOr(), left=ast.Name())):  # a name for a union of types
            return True
        case ast.Assign(value=ast.Subscript(value=ast.Name(id=name))) if name[0].isupper():  # a name for a type
            return True
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, without annotations."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _edits(node: ast.AST) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    match node:
        case ast.Constant(value=bool(value)):
            yield "constant", node, str(not value)
        case ast.Constant(value=int(value)):
            yield "constant", node, str({0: 1, 1: 0}.get(value, value + 1))
        case ast.Constant(value=float(value)):
            yield "constant", node, repr(value + 1 if abs(value) < 1 else value * 2)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            other = COMPARISONS[type(op)]
            yield "comparison", node, ast.unparse(ast.Compare(left, [other], [right]))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield "operator", node, f"({ast.unparse(ast.BinOp(left, OPERATORS[type(op)], right))})"
        case ast.BoolOp(op=op, values=values):
            other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "operator", node, f"({ast.unparse(ast.BoolOp(other_op, values))})"
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            yield "dropped not", node, f"({ast.unparse(operand)})"
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "operator", node, f"({ast.unparse(operand)})"
        case ast.Subscript(slice=index):
            yield from _shifted(index)
        case ast.Call():
            yield from _calls(node)
        case ast.stmt():
            yield from _statements(node)


def _shifted(index: ast.expr) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield each bound of a slice, one further."""
    for part in index.elts if isinstance(index, ast.Tuple) else [index]:
        if isinstance(part, ast.Slice):
            for bound in (part.lower, part.upper):
                if bound is not None:
                    yield "off by one", bound, f"({ast.unparse(bound)}) + 1"


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.expr, str]]:
    function, arguments = node.func, node.args
    if isinstance(function, ast.Attribute) and function.attr == "detach":
        yield "dropped detach", node, f"({ast.unparse(function.value)})"
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name in OTHER_NAMES and not (name == "sum" and isinstance(function, ast.Name)):  # Python has no `mean`
        other = OTHER_NAMES[name]
        renamed = ast.Attribute(function.value, other) if isinstance(function, ast.Attribute) else ast.Name(other)
        yield "min/max", function, ast.unparse(renamed)
    if name == "range":
        yield "off by one", arguments[-1], f"({ast.unparse(arguments[-1])}) + 1"
    starred = any(isinstance(argument, ast.Starred) for argument in arguments[:2])
    if len(arguments) >= 2 and not starred and name not in COMMUTATIVE:
        swapped = [arguments[1], arguments[0], *arguments[2:]]
        yield "swapped arguments", node, ast.unparse(ast.Call(function, swapped, node.keywords))
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in UNNOTICED_KEYWORDS:
            others = [other for other in node.keywords if other is not keyword]
            yield "dropped keyword", node, ast.unparse(ast.Call(function, arguments, others))
            if keyword.arg in ("min", "max"):
                turned = ast.keyword(OTHER_NAMES[keyword.arg], keyword.value)
                yield "min/max", node, ast.unparse(ast.Call(function, arguments, [*others, turned]))


def _statements(node: ast.stmt) -> Iterator[tuple[str, ast.stmt, str]]:
    match node:
        case ast.Expr(value=ast.Call()):
            yield "dropped statement", node, "pass"
        case ast.AugAssign(target=target, op=op, value=value):
            yield "dropped statement", node, "pass"
            if type(op) in OPERATORS:
                yield "operator", node, ast.unparse(ast.AugAssign(target, OPERATORS[type(op)], value))
        case ast.If(body=[ast.Return() | ast.Raise() | ast.Continue()], orelse=[]):
            yield "dropped statement", node, "pass"
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _names(value):
            yield "dropped statement", node, "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "dropped statement", node, "pass"


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
