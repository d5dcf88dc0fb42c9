"""The claims of You et al. 2025, with the numbers that they rest on as the paper prints them."""

from __future__ import annotations

from axioms.papers.claims import PaperClaim, Printed

SST = ("0.22", "0.88", "0.05", "0.83"), ("0.52", "1.00", "0.22", "0.79")
IMDB = ("0.25", "3.72", "-2.64", "6.36"), ("0.26", "3.73", "-3.02", "6.75")
"""Table 2's rows of AttnLRP and CP-LRP: LOO r, LeRF, MoRF and delta."""


def _lrp(rows: tuple[tuple[str, ...], tuple[str, ...]], column: int) -> tuple[Printed, Printed]:
    """Return the numbers of CP-LRP and AttnLRP in one column of Table 2."""
    attnlrp, cp_lrp = rows
    return (
        Printed(cp_lrp[column], "CP-LRP", (f"| CP-LRP | {' | '.join(cp_lrp)} |",)),
        Printed(attnlrp[column], "AttnLRP", (f"| AttnLRP | {' | '.join(attnlrp)} |",)),
    )


CLAIMS = (
    PaperClaim(
        "C1",
        "regrouping a product changes AttnLRP",
        "Fig. 1",
        (
            Printed("6", "x1 in (x1 x2) x3", ("R_{x_1} = 6",)),
            Printed("12", "x1 in x1 (x2 x3)", ("R_{x_1} = 12",)),
        ),
        "R 6 and 12",
    ),
    PaperClaim(
        "C2",
        "AttnLRP tells (QK')V from Q(K'V)",
        "Tab. 1",
        (Printed("0.7865", "AttnLRP, left and right", ("| AttnLRP |", "0.0730", "-0.0698")),),
    ),
    PaperClaim(
        "C3",
        "LOO and IG do not",
        "Tab. 1",
        (
            Printed("1.0000", "LOO, left and right", ("| LOO | 1.0000 | 1.0000 | 1.0000 |",)),
            Printed("1.0000", "IG, left and right", ("| IG | 1.0000 | -0.3707 |",)),
        ),
        "1.0000",
    ),
    PaperClaim(
        "C4",
        "IG disagrees with LOO there",
        "Tab. 1",
        (Printed("-0.3707", "IG with LOO", ("| IG | 1.0000 | -0.3707 | -0.3707 |",)),),
    ),
    PaperClaim("C5", "CP-LRP is closer to LOO than AttnLRP (SST)", "Tab. 2", _lrp(SST, 0)),
    PaperClaim("C6", "CP-LRP is closer to LOO than AttnLRP (IMDB)", "Tab. 2", _lrp(IMDB, 0)),
    PaperClaim("C7", "CP-LRP lags behind AttnLRP in delta (SST)", "Sec. 1, Tab. 2", _lrp(SST, 3)),
    PaperClaim("C8", "CP-LRP lags behind AttnLRP in delta (IMDB)", "Sec. 1, Tab. 2", _lrp(IMDB, 3)),
    PaperClaim(
        "C9",
        "the gain sits in middle and late layers",
        "Fig. 2, Tab. A3",
        (
            Printed("0.32", "layer 10 alone, SST", ("L_{10} | 0.32 | 0.93 |",)),
            Printed("0.23", "layer 2 alone, SST", ("L_2 | 0.23 | 0.89 |",)),
        ),
        "L10 0.32, L2 0.23",
    ),
    PaperClaim("C10", "those layers attend more flatly", "Sec. 1"),
    PaperClaim("C11", "LRP is LOO in a linear network", "Sec. 2.3"),
    PaperClaim("C12", "the rules conserve relevance locally", "Sec. 2.3"),
    PaperClaim("C13", "uniform logits: LRP spreads evenly, LOO gives none", "Sec. 3.2 (1)"),
    PaperClaim("C14", "large, similar logits: the linearization fails", "Sec. 3.2 (2)"),
    PaperClaim(
        "C15",
        "AttnLRP is unrelated to LOO on linear attention",
        "Tab. 1",
        (
            Printed("0.0730", "AttnLRP with LOO, left", ("| AttnLRP | 0.7865 |",)),
            Printed("-0.0698", "AttnLRP with LOO, right", ("| AttnLRP | 0.7865 |",)),
        ),
        "0.07, -0.07",
    ),
    PaperClaim(
        "C16",
        "LRP is closer to LOO than IG and rollout",
        "Tab. 2",
        (
            *_lrp(SST, 0)[1:],
            Printed("-0.05", "IG", ("| IG | -0.05 | 0.48 |",)),
            Printed("0.08", "rollout", ("| AttentionRollout | 0.08 | 0.72 |",)),
        ),
        "0.22, -0.05, 0.08",
    ),
    PaperClaim("N1", "dividing by the sum widens CP-LRP's lead (our ask)", "Sec. 4.1", _lrp(SST, 0)),
    PaperClaim("N2", "CP-LRP leads only after dividing (our ask)", "Sec. 4.1", _lrp(SST, 0)),
    PaperClaim("N3", "CP-LRP leads whatever removing means (our ask)", "Sec. 4.1", _lrp(SST, 0)),
)
