"""What a metric must satisfy."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

COMPARATORS = ("lt", "le", "gt", "ge", "approx", "between", "equals")

Numbers = list[float] | list[list[float]]


def _without_null(schema: dict[str, Any]) -> None:
    """Take `null` out of the schema of every value: what is left out has none, and an editor should say so."""
    for value in schema["properties"].values():
        kinds = [kind for kind in value.pop("anyOf") if kind != {"type": "null"}]
        value.pop("default")
        value.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


class Bound(BaseModel):
    """One comparison: `{ge: 0.5}`, `{approx: 0.5, abs: 1e-9}`, `{between: [0, 1]}`, `{equals: [6, 6, 12]}`."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, json_schema_extra=_without_null
    )

    lt: float | None = None
    le: float | None = None
    gt: float | None = None
    ge: float | None = None
    approx: float | None = None
    between: tuple[float, float] | None = None
    equals: Numbers | None = None
    abs: float | None = None
    """Tolerance of `approx` and `equals`."""

    @model_validator(mode="before")
    @classmethod
    def _one_comparison(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            what = f"{raw!r} is not a bound; write a mapping such as {{ge: 0.5}}"
            raise PydanticCustomError("bound", "{what}", {"what": what})
        for key in raw:
            if key not in (*COMPARATORS, "abs"):
                what = f"{key!r} is not a bound; use {', '.join(COMPARATORS[:-1])} or {COMPARATORS[-1]}"
                raise PydanticCustomError("bound", "{what}", {"what": what})
        empty = [key for key in raw if raw[key] is None]
        if empty:
            what = f"`{empty[0]}` has no value; write a number behind it, or leave it out"
            raise PydanticCustomError("bound", "{what}", {"what": what})
        given = [key for key in COMPARATORS if key in raw]
        if len(given) != 1:
            what = f"give exactly one of {', '.join(COMPARATORS)}; found {', '.join(given) or 'none'}"
            raise PydanticCustomError("bound", "{what}", {"what": what})
        if "abs" in raw and given[0] not in ("approx", "equals"):
            raise PydanticCustomError("bound", "`abs` is a tolerance of `approx` and `equals` only")
        if given[0] == "approx" and "abs" not in raw:
            raise PydanticCustomError("bound", "`approx` needs its tolerance: {{approx: 0.5, abs: 0.01}}")
        if isinstance(raw.get("between"), list):
            raw = {**raw, "between": tuple(raw["between"])}
        return raw

    @model_validator(mode="after")
    def _in_order(self) -> Bound:
        if self.between is not None and self.between[0] > self.between[1]:
            raise PydanticCustomError("bound", "`between` wants the smaller number first")
        if self.abs is not None and self.abs < 0:
            raise PydanticCustomError("bound", "`abs` must not be negative")
        return self

    @property
    def comparator(self) -> str:
        """Which comparison it is."""
        return next(key for key in COMPARATORS if getattr(self, key) is not None)

    def region(self) -> tuple[float, float, bool, bool]:
        """Return the lowest and the highest value allowed, and whether each of the two is itself allowed."""
        if self.lt is not None:
            return -math.inf, self.lt, False, False
        if self.le is not None:
            return -math.inf, self.le, False, True
        if self.gt is not None:
            return self.gt, math.inf, False, False
        if self.ge is not None:
            return self.ge, math.inf, True, False
        if self.between is not None:
            return (*self.between, True, True)
        if self.approx is not None and self.abs is not None:
            return self.approx - self.abs, self.approx + self.abs, True, True
        raise TypeError("`equals` compares lists, not numbers")

    def widened(self, floor: float) -> Bound:
        """Return the bound with tolerances no tighter than `floor`, the rounding of the run's dtype."""
        if self.le is not None and 0 <= self.le < floor:
            return self.model_copy(update={"le": floor})
        if self.lt is not None and 0 <= self.lt < floor:
            return self.model_copy(update={"lt": floor})
        if self.approx is not None and self.abs is not None:
            least = floor * max(1.0, math.fabs(self.approx))
            return self.model_copy(update={"abs": least}) if self.abs < least else self
        if self.equals is not None:
            largest = max((math.fabs(number) for number in flatten(self.equals)), default=0.0)
            least = floor * max(1.0, largest)
            return self.model_copy(update={"abs": least}) if (self.abs or 0.0) < least else self
        return self

    def __str__(self) -> str:
        signs = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        value = getattr(self, self.comparator)
        if self.comparator in signs:
            return f"{signs[self.comparator]} {value:g}"
        if self.comparator == "between":
            return f"between {value[0]:g} and {value[1]:g}"
        tolerance = f" +- {self.abs:g}" if self.abs is not None else ""
        return f"= {value:g}{tolerance}" if self.comparator == "approx" else f"= {value}{tolerance}"


def flatten(numbers: Numbers) -> list[float]:
    """Return a list, or a list of lists, as one list."""
    flat: list[float] = []
    for item in numbers:
        flat.extend(item) if isinstance(item, list) else flat.append(item)
    return flat
