"""Things are cut into portions that are as large as may be, and no larger."""

import numpy as np
import pytest

from clalign.common.portions import portions_of


@pytest.mark.parametrize(("most", "count"), [(10, None), (10.5, 3), (0, None), (10**9, 2), (10**9, None)])
def test_each_portion_is_as_large_as_may_be(most: float, count: int | None) -> None:
    sizes = np.random.default_rng(3).integers(0, 12, 200, np.int32)
    found = list(portions_of(sizes, most, count))
    assert [part.start for part in found] == [0, *(part.stop for part in found[:-1])]
    assert found[-1].stop == len(sizes)
    for part in found:
        n, with_next = part.stop - part.start, sizes[part.start : part.stop + 1].sum()
        assert n == 1 or (sizes[part].sum() <= most and n <= (count or n))
        assert part.stop == len(sizes) or with_next > most or n == count


def test_nothing_has_no_portion() -> None:
    assert list(portions_of([], 10)) == []
