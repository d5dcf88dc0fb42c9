"""A claim as a spec writes it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from axioms.core.errors import did_you_mean
from axioms.core.registry import CLAIMS
from axioms.spec.references import Strict, fail

ALL = "all"
Status = Literal["asserted", "open"]


class ClaimSpec(Strict):
    """A sentence, and the checks that it stands or falls with."""

    claim: str = Field(min_length=1, description="One sentence that the checks decide.")
    paper: dict[str, str] | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="The row of a paper's scorecard that it is, for example {you2025: C5}.",
    )
    status: Status = Field(
        "asserted",
        description="`asserted`: the run fails where it is not shown. `open`: a question, which passes either way; its "
        "verdict is reported, and the baseline gate notices when it changes.",
    )
    decided_by: Literal["all"] | Annotated[list[str], Field(min_length=1)] = Field(
        "all",
        description="The checks that it stands or falls with: `axiom`, `axiom of method`, `axiom on rewrite`, "
        "`method over method` for a comparison, or a check as pytest names it, `axiom[id]`. `all` are the judged "
        "checks that no other claim of the spec names. Controls, such as `random`, never count.",
    )

    @field_validator("paper")
    @classmethod
    def _row(cls, paper: dict[str, str] | None) -> dict[str, str] | None:
        for key, row in (paper or {}).items():
            if key not in CLAIMS:
                raise fail(f"there is no paper {key!r}.{did_you_mean(key, CLAIMS)}")
            if row not in CLAIMS[key]:
                raise fail(f"{key} has no claim {row!r}; it has {', '.join(CLAIMS[key])}")
        return paper
