"""What `axioms new method --properties` writes. NAME stands for the name, KNOWN for what the method breaks."""

PROPERTIES = '''\
"""Properties of NAME: each exact axiom, on small models that hypothesis draws, and shrinks where one is broken.

    pytest tests/test_NAME_properties.py --axioms-import NAME
    axioms falsify --method NAME --axiom all --import NAME    the same search, and what it finds as a spec
"""

import NAME  # noqa: F401  (registers the method)
import pytest
from axioms.search.properties import axiom_names, broken_by, models
from hypothesis import given, settings

# CHANGE: what the method is known to break, and why. A property that is named here must fail: one that holds after all
# fails this test, so that the list stays true.
KNOWN = {KNOWN}


@pytest.mark.parametrize("axiom", axiom_names())
def test_property(axiom, request):
    if axiom in KNOWN:
        request.applymarker(pytest.mark.xfail(reason=KNOWN[axiom], raises=AssertionError, strict=True))

    # CHANGE: more examples find more, and take longer. derandomize: every run draws the same ones.
    @settings(deadline=None, max_examples=100, derandomize=True)
    @given(models(axiom))
    def check(drawn):
        broken = broken_by("NAME", axiom, drawn)
        assert not broken, broken

    check()
'''

KNOWN_OF_METHOD = """\
{
    "sensitivity": "the gradient is zero where the output no longer grows",
    "completeness": "of a product of n factors each gets all of it",
    "path_antisymmetry": "the gradient at one end of the way is not that at the other",
}"""
