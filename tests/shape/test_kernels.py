"""One algorithm, one name: each kernel file has its stage, its reference and its test."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHAPES = ("item", "lanes", "vector", "simd4")


def incomplete_kernels(root: Path) -> list[str]:
    found = []
    for path in sorted((root / "kernels_cl").glob("*.cl")):
        name, _, shape = path.stem.rpartition("_")
        if shape not in SHAPES:
            found.append(f"{path.name}: its shape is none of {', '.join(SHAPES)}")
            continue
        reference = name.removesuffix("_ladder")  # a laboratory computes what the program's own kernel does
        companions = (
            f"clalign/stages/**/{name}.py", f"clalign/reference/{reference}.py", f"tests/stages/test_{name}.py",
        )  # fmt: skip
        found += [f"{path.name}: no {companion}" for companion in companions if not any(root.glob(companion))]
    return found


def test_every_kernel_has_stage_reference_and_test():
    assert incomplete_kernels(ROOT) == []


def test_planted_lonely_kernel_is_found(tmp_path: Path):
    (tmp_path / "kernels_cl").mkdir()
    for name in ("good_item", "good_ladder_item", "lonely_lanes", "shapeless"):
        (tmp_path / "kernels_cl" / f"{name}.cl").touch()
    for name in ("clalign/stages/plan7/good.py", "clalign/reference/good.py", "tests/stages/test_good.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "clalign/stages/lonely.py").touch()
    assert incomplete_kernels(tmp_path) == [
        "good_ladder_item.cl: no clalign/stages/**/good_ladder.py",
        "good_ladder_item.cl: no tests/stages/test_good_ladder.py",
        "lonely_lanes.cl: no clalign/reference/lonely.py",
        "lonely_lanes.cl: no tests/stages/test_lonely.py",
        "shapeless.cl: its shape is none of item, lanes, vector, simd4",
    ]
