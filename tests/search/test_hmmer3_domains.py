"""Domains as HMMER 3.3.2 defines them: answers of the program itself."""

from __future__ import annotations

import gzip
import math
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from clalign.compute.opening import open_session
from clalign.compute.sessions import Session
from clalign.engines.plan7.hmmer3.domains import define_domains
from clalign.formats.profiles import load_profiles
from clalign.values.devices import Device
from clalign.values.envelopes import TargetDomains
from clalign.values.local_profiles import LocalProfile, to_local_profile
from clalign.values.sequences import SequenceBatch

pytestmark = pytest.mark.thorough(device=["gpu", "cpu"])

GLOBINS = str(files("clalign.resources").joinpath("examples", "globins4.hmm"))

HBB_HUMAN = (
    "VHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLSELHCDKLHVDPENFRLLGNVLVCV"
    "LAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH"
)
TWO_GLOBINS = (
    "GEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKAHGKKVADALTTAVSHVDDMPSALSALSDLHAHKLRVDPVNFKLLSHCLLVTLFMKEKQEALVNSSYEAFKAN"
    "VPQYSVVFYTSILEKAPAAKDLFPFLANGVDPTNPKLIGHAEKLFGLVHDSAAQLRAKGAVVADAALGSLHAQKGVTDPQFVVVKEALLKTVKEAVGDKWSDELLGD"
)

DNA_PROFILE = """HMMER3/f [3.3.2 | Nov 2020]
NAME  katdna
LENG  10
ALPH  DNA
RF    no
MM    no
CONS  yes
CS    no
MAP   yes
NSEQ  5
EFFN  5.000000
STATS LOCAL MSV       -5.7678  0.82146
STATS LOCAL VITERBI   -6.5535  0.82146
STATS LOCAL FORWARD   -2.0906  0.82146
HMM          A        C        G        T
            m->m     m->i     m->d     i->m     i->i     d->m     d->d
  COMPO   1.38223  1.58112  1.26125  1.34731
          1.38629  1.38629  1.38629  1.38629
          0.02817  4.27667  4.27667  1.46634  0.26236  0.00000        *
{nodes}//
"""
DNA_NODES = """\
0.06648 3.97700 3.72374 3.84293 A 0.02817 4.27667 4.27667 1.46634 0.26236 1.09861 0.40547
2.61393 0.52471 1.41910 2.37417 c 0.02817 4.27667 4.27667 1.46634 0.26236 1.09861 0.40547
3.21442 3.97314 0.08523 3.78506 G 0.02817 4.27667 4.27667 1.46634 0.26236 1.09861 0.40547
3.39709 3.02431 3.53405 0.11794 t 0.19373 4.27667 1.81871 1.46634 0.26236 1.09861 0.40547
3.05839 2.74183 3.18770 0.16568 t 0.03316 4.11609 4.11609 1.46634 0.26236 0.49330 0.94316
2.47433 1.52885 0.48370 2.49499 g 0.02817 4.27667 4.27667 1.46634 0.26236 1.09861 0.40547
0.06648 3.97700 3.72374 3.84293 A 0.02817 4.27667 4.27667 1.46634 0.26236 1.09861 0.40547
3.55029 0.10797 3.72605 3.00490 c 0.16053 4.27667 2.00679 1.46634 0.26236 1.09861 0.40547
3.02445 3.71847 0.10780 3.52884 g 0.03209 4.14823 4.14823 1.46634 0.26236 0.54875 0.86197
1.49674 2.42054 2.54444 0.49635 t 0.01418 4.26268 * 1.46634 0.26236 0.00000 *
"""


@pytest.fixture(scope="module")
def globins() -> LocalProfile:
    return to_local_profile(load_profiles(GLOBINS)[0])


@pytest.fixture(scope="module")
def dna(tmp_path_factory: pytest.TempPathFactory) -> LocalProfile:
    """The profile that hmmbuild 3.3.2 makes of five short sequences."""
    nodes = []
    for k, line in enumerate(DNA_NODES.splitlines(), 1):
        words = line.split()
        insert = " ".join(["1.38629"] * 4)
        nodes.append(f"{k} {' '.join(words[:4])} {k} {words[4]} - - -\n{insert}\n{' '.join(words[5:])}\n")
    path = tmp_path_factory.mktemp("dna") / "katdna.hmm"
    path.write_text(DNA_PROFILE.replace("{nodes}", "".join(nodes)))
    return to_local_profile(load_profiles(str(path))[0])


def domains(session: Session, profile: LocalProfile, *texts: str, seed: int = 42) -> list[TargetDomains]:
    return define_domains(session, SequenceBatch.from_texts(texts), profile, seed)()


def test_one_domain(session: Session, globins: LocalProfile) -> None:
    (found,) = domains(session, globins, HBB_HUMAN)
    assert (found.n_regions, found.n_clustered, found.n_overlaps, found.n_envelopes) == (1, 0, 0, 1)
    assert found.forward == pytest.approx(144.2326, abs=1e-4)
    (envelope,) = found.envelopes
    assert (envelope.first, envelope.last) == (0, 146)
    assert envelope.path.target_range == (0, 146)
    assert envelope.path.query_range == (0, 149)
    assert envelope.score == pytest.approx(144.1338, abs=1e-4)
    assert envelope.correction == pytest.approx(2.1077905, abs=1e-7)
    assert found.correction == pytest.approx(envelope.correction, abs=1e-6)
    assert envelope.expected_correct == pytest.approx(144.936, abs=1e-3)
    assert round(envelope.accuracy, 2) == 0.99


def test_clustered_domains_that_overlap(session: Session, globins: LocalProfile) -> None:
    (found,) = domains(session, globins, TWO_GLOBINS)
    assert (found.n_regions, found.n_clustered, found.n_overlaps, found.n_envelopes) == (1, 1, 1, 2)
    assert found.forward == pytest.approx(85.2487, abs=1e-4)
    assert [(e.first + 1, e.last) for e in found.envelopes] == [(1, 112), (89, 212)]
    assert [e.path.target_range for e in found.envelopes] == [(1, 103), (94, 207)]
    assert [e.path.query_range for e in found.envelopes] == [(23, 134), (7, 124)]
    assert [e.score for e in found.envelopes] == pytest.approx([75.1727, 6.3667], abs=1e-4)
    assert [e.correction for e in found.envelopes] == pytest.approx([5.4671, 4.1865], abs=1e-4)
    assert [round(e.accuracy, 2) for e in found.envelopes] == [0.91, 0.81]


def test_corrections_to_the_last_bit(session: Session, globins: LocalProfile) -> None:
    """As HMMER's: an error in the last place of a letter's score counts once for each residue.

    The first target has simple regions, the others such as are sampled, one with ambiguous letters.
    """
    ambiguous = TWO_GLOBINS.replace("AL", "XL").replace("VD", "VB")
    found = domains(session, globins, HBB_HUMAN[::-1] + HBB_HUMAN, TWO_GLOBINS, ambiguous, HBB_HUMAN[20:] + TWO_GLOBINS)
    assert [target.n_clustered for target in found] == [0, 1, 1, 1]
    assert [[envelope.correction for envelope in target.envelopes] for target in found] == [
        [1.8436694145202637, 2.107903480529785],
        [5.467073440551758, 4.186498165130615],
        [4.795259952545166, 3.491623878479004],
        [1.319159746170044, 5.4606451988220215, 3.976094961166382],
    ]


def test_seed(session: Session, globins: LocalProfile) -> None:
    """Every region starts from the seed again, so what else is in a batch plays no part."""
    alone, beside = domains(session, globins, TWO_GLOBINS), domains(session, globins, HBB_HUMAN, TWO_GLOBINS)
    assert repr(alone[0]) == repr(beside[1])
    (other,) = domains(session, globins, TWO_GLOBINS, seed=1)
    assert other.correction != alone[0].correction


def test_nucleic_profile(session: Session, dna: LocalProfile) -> None:
    texts = [
        "ACGTTGACGTCCCCACGTTGACGT",
        "ACGTTGACGT",
        "ACGTNGACGT",
        "TTGACGT",
        "TTACGTGACGATT",
        "GGACGTTCCGACGTGG",
        "CCCCCCCC",
    ]
    found = domains(session, dna, *texts)
    assert [(t.n_regions, t.n_clustered, t.n_envelopes) for t in found] == [
        (2, 0, 2), (1, 0, 1), (1, 0, 1), (1, 0, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)
    ]  # fmt: skip
    assert [round(t.expected, 1) for t in found[:6]] == [2.1, 1.1, 1.1, 1.1, 1.4, 1.8]
    places = [[(e.first + 1, e.last, e.path.target_range, e.path.query_range) for e in t.envelopes] for t in found]
    assert places == [
        [(1, 10, (0, 10), (0, 10)), (15, 24, (14, 24), (0, 10))], [(1, 10, (0, 10), (0, 10))],
        [(1, 10, (0, 10), (0, 10))], [(1, 7, (0, 7), (3, 10))], [(1, 11, (2, 10), (0, 9))],
        [(3, 14, (2, 13), (0, 9))], [],
    ]  # fmt: skip
    scores = [e.score for t in found for e in t.envelopes]
    assert scores == pytest.approx([2.7808, 2.7808, 4.2360, 2.1372, 1.3966, 0.0266, -1.0044], abs=1e-4)
    corrections = [e.correction for t in found for e in t.envelopes]
    assert corrections == pytest.approx([0.1524, 0.1524, 0.1512, 0.0971, 0.4473, 0.4847, 0.3963], abs=1e-4)


def test_targets_without_anything(session: Session, globins: LocalProfile) -> None:
    empty, stop, one = domains(session, globins, "", "*", "W")
    for found in (empty, stop, one):
        assert (found.envelopes, found.n_regions, found.correction) == ((), 0, 0)
    assert math.isnan(empty.forward)
    assert stop.forward == -math.inf
    assert domains(session, globins) == []


PROFILES = (
    "hmmer3/globins4.hmm",
    "hmmer3/RRM_1.hmm",
    "hmmer3/XYPPX.hmm",
    "pfam/pfam38/PF00005_ABC_tran.hmm",
    "hmmer3/LuxC.hmm",
)


@pytest.mark.parametrize("name", PROFILES)
def test_acceptance(opencl_device: Device, data_folder: Path, name: str) -> None:
    """Every domain that pyhmmer finds in real sequences: coordinates, scores and digits equal, sampled ones too."""
    pyhmmer = pytest.importorskip("pyhmmer")
    path = str(data_folder / name)
    with pyhmmer.plan7.HMMFile(path) as opened:
        hmm = opened.read()
    with (
        gzip.open(data_folder / "sequences" / "swissprot_first12071.fasta.gz") as source,
        pyhmmer.easel.SequenceFile(source, format="fasta", digital=True, alphabet=hmm.alphabet) as opened,
    ):
        sequences = opened.read_block()
    by_name = {sequence.name: sequence for sequence in sequences}
    hits = list(next(pyhmmer.hmmsearch(hmm, sequences, cpus=1, E=1e3, domE=1e9)))[:200]
    batch = SequenceBatch.from_texts([by_name[hit.name].textize().sequence for hit in hits])
    with open_session(opencl_device) as session:
        found = define_domains(session, batch, to_local_profile(load_profiles(path)[0]))()
    for hit, target in zip(hits, found, strict=True):
        theirs = [
            (
                (d.env_from - 1, d.env_to),
                (d.alignment.target_from - 1, d.alignment.target_to),
                (d.alignment.hmm_from - 1, d.alignment.hmm_to),
                np.float32(d.envelope_score * math.log(2)),
                d.alignment.posterior_probabilities,
            )
            for d in hit.domains
        ]
        ours = [
            ((e.first, e.last), e.path.target_range, e.path.query_range, np.float32(e.score), e.posterior)
            for e in target.envelopes
        ]
        assert ours == theirs, hit.name
        corrections = [float(np.float32(d.correction * math.log(2))) for d in hit.domains]
        assert [e.correction for e in target.envelopes] == corrections, hit.name
