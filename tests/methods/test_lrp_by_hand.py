"""Three tokens of softmax attention, worked out on paper.

Scalar tokens x = (1, -1, 2) with d_k = 1, Q = ln(2) x, K = x, V = 13 x; the output is the first token's.

Equation (2), first row:
    Z = ln 2 (1, -1, 2)                       e^Z = (2, 1/2, 4)
    A = (2, 1/2, 4) / (13/2) = (4, 1, 8) / 13
    V = (13, -13, 26)                         f = A V = 4 - 1 + 16 = 19

CP-LRP holds A fixed, so R_i = A_i V_i = (4, -1, 16), which sums to 19.

AttnLRP, R_f = 19:
    (3b)  R_V = A_i V_i / (2 f) f = (2, -1/2, 8), and V_i comes from x_i alone
    (3a)  R_A = the same (2, -1/2, 8), sum 19/2
    (5)   R_A - A sum R_A = (2 - 38/13, -1/2 - 19/26, 8 - 76/13) = (-12, -16, 28) / 13
          R_Z = Z (...) = ln 2 (-12, 16, 56) / 13
    (4a)  Q_1 gets half of each: ln 2 (-6 + 8 + 28) / 13 = 30 ln 2 / 13, and Q_1 comes from x_1
    (4b)  K_i gets the other half: ln 2 (-6, 8, 28) / 13, and K_i comes from x_i
    sum   x_1: 2 + 24 ln 2 / 13,   x_2: -1/2 + 8 ln 2 / 13,   x_3: 8 + 28 ln 2 / 13
The total is 19/2 + 60 ln 2 / 13 and not 19: the softmax rule (5) does not conserve.

Leave-one-out sets a token to zero; its key and value are then 0, and e^Z becomes 1 in its place. Without x_3:
    A = (2, 1/2, 1) / (7/2) = (4, 1, 2) / 7,  f = (52 - 13) / 7 = 39/7,  LOO_3 = 19 - 39/7 = 94/7.
Without x_2:  A = (2, 1, 4) / 7,  f = (26 + 104) / 7 = 130/7,  LOO_2 = 19 - 130/7 = 3/7.
Without x_1 the query is 0, so A is uniform over values (0, -13, 26):  f = 13/3,  LOO_1 = 19 - 13/3 = 44/3.
"""

from __future__ import annotations

from math import log

import pytest
import torch

import axioms
from axioms.subjects.models.modules import ScalarAttention

LN2 = log(2)
BY_HAND = {
    "cp_lrp": [4, -1, 16],
    "attnlrp": [2 + 24 * LN2 / 13, -1 / 2 + 8 * LN2 / 13, 8 + 28 * LN2 / 13],
    "loo": [44 / 3, 3 / 7, 94 / 7],
}


@pytest.mark.parametrize("method", BY_HAND)
def test_three_tokens(method: str) -> None:
    model = ScalarAttention(query=LN2, key=1.0, value=13.0)
    found = axioms.attribute(model, torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64), method=method)
    torch.testing.assert_close(found.output, torch.tensor([19.0], dtype=torch.float64))
    wanted = torch.tensor([BY_HAND[method]], dtype=torch.float64)
    torch.testing.assert_close(found.scores, wanted, rtol=0, atol=1e-12)
