"""The claims of Arras et al. 2025, with the numbers that they rest on as the paper prints them."""

from __future__ import annotations

from axioms.papers.claims import PaperClaim, Printed

SMALLER, LARGER = ("0.637 <u>0.705</u> 0.718 0.316",), ("0.521 0.580 <u>0.551</u> 0.249",)
"""The lines of Table 2, where cells of methods run together: BERT-base, GPT2-small and Llama-1B; the larger ones."""

CLAIMS = (
    PaperClaim(
        "A1",
        "ALTI-Logit finds the subject best on GPT-2",
        "Tab. 2",
        (
            Printed("0.808", "ALTI-Logit, GPT2-small", SMALLER),
            Printed("0.706", "LRP, GPT2-small", SMALLER),
            Printed("0.852", "ALTI-Logit, GPT2-XL", LARGER),
            Printed("0.754", "LRP, GPT2-XL", LARGER),
        ),
        "MRR 0.81, 0.85",
    ),
    PaperClaim(
        "A2",
        "AttnLRP finds it best on Llama 3",
        "Tab. 2",
        (
            Printed("0.814", "AttnLRP, Llama-3.2-1B", SMALLER),
            Printed("0.623", "ALTI-Logit, Llama-3.2-1B", SMALLER),
            Printed("0.764", "AttnLRP, Llama-3.2-3B", LARGER),
            Printed("0.622", "LRP, Llama-3.2-3B", LARGER),
        ),
        "MRR 0.81, 0.76",
    ),
    PaperClaim(
        "A3",
        "AttnLRP finds it better than LRP on BERT",
        "Tab. 2",
        (
            Printed("0.705", "AttnLRP, BERT-base", SMALLER),
            Printed("0.637", "LRP, BERT-base", SMALLER),
            Printed("0.580", "AttnLRP, BERT-large", LARGER),
            Printed("0.521", "LRP, BERT-large", LARGER),
        ),
        "MRR 0.71 against 0.64",
    ),
    PaperClaim(
        "A4",
        "decomposition finds it better than gradients",
        "Sec. 5, Tab. 2",
        (Printed("0.634", "AttnLRP, GPT2-small", SMALLER), Printed("0.551", "Gradient, GPT2-small", SMALLER)),
        "MRR 0.63 against 0.55",
    ),
    PaperClaim(
        "A5",
        "Gradient x Input is near chance",
        "Tab. 2",
        (
            Printed("0.353", "Gradient x Input, GPT2-small", SMALLER),
            Printed("0.360", "chance, GPT2-small", ("Random mean", "0.277 0.004")),
        ),
        "MRR 0.35, chance 0.36",
    ),
    PaperClaim(
        "A6",
        "by sign alone (PTA) LRP is below chance",
        "Sec. 4.1, Tab. 2",
        (
            Printed("0.445", "LRP, GPT2-small", SMALLER),
            Printed("0.501", "chance, GPT2-small", ("Random mean", "0.277 0.004")),
        ),
        "PTA 0.45, chance 0.50",
    ),
    PaperClaim(
        "A7",
        "LRPx is faster than explicit LRP",
        "Sec. 4.3",
        (
            Printed("1.83", "BERT-base, least", ("bert-base-uncased", "speedup")),
            Printed("1.98", "BERT-base, most", ("bert-base-uncased", "speedup")),
            Printed("1.54", "Llama-3.2-1B, least", ("Llama-3.2-1B", "speedup")),
            Printed("1.61", "Llama-3.2-1B, most", ("Llama-3.2-1B", "speedup")),
        ),
        "1.83 to 1.98",
    ),
    PaperClaim("A8", "the softmax rule does not conserve", "Sec. 2.3"),
    PaperClaim("A9", "Gradient x Input on a modified graph is LRP", "Sec. 2.7, App. D"),
)
