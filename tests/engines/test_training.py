"""Training gives the parameters of fsa 1.15.9 to its printed digits (its options --write-params and --logfile)."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.engines.msa import training
from clalign.engines.msa.training import (
    NUCLEIC_TRAINING,
    PROTEIN_TRAINING,
    Trained,
    TrainingOptions,
    maximized_emissions,
    maximized_gaps,
    train,
    what_to_learn,
)
from clalign.reference.pair_hmm import backward, forward
from clalign.stages.pairhmm.posteriors import POSTERIORS
from clalign.values.alphabets import AMINO, RNA, Alphabet, encode
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import SEED_GAPS, ExpectedCounts, PairHmm, fixed_emissions, seed_emissions, transitions_of
from clalign.values.sequences import SequenceBatch

GLOBINS = [
    "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAHKLRVDPVNFKLLSHCL"
    "LVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR",
    "MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLSELHCDKLHVDPENFRL"
    "LGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH",
    "MGLSDGEWQLVLNVWGKVEADIPGHGQEVLIRLFKGHPETLEKFDKFKHLKSEDEMKASEDLKKHGATVLTALGGILKKKGHHEAEIKPLAQSHATKHKIPVKYLE"
    "FISECIIQVLQSKHPGDFGADAQGAMNKALELFRKDMASNYKELGFQG",
]

KIN = [
    "PAKIHSVEMNYVNRLAKHGGLKPAPIEMWIVTSNRVLVKLGGQFLNPLLNGKRKVLIGAKLGLCTAPRGLSFDNVVAG",
    "LTLKIHGIREQVEPVYDNAGKTHICLKPAKIEMKGETSERVPKKSGQGCQVPMRVRIKSKIPIASLLLNVGAIVSLISENNPVCG",
    "EKITSVEEWLTDYVNREVGKGFLKPAKPEMKGLTSNHHLKVGQGRQFLMELQNKLKPDVASLGLCVYAARGLIGWVNHVFG",
    "ENKIHSVEPVVGYGYIGLSKHNFLKPKFEAGETTNHVLKVDIPSGGQFLMCRLNIKLKPLIASLGLCALVYSSRKLISAVVEVAG",
    "VETPNMIQSVEPLYNLSLSMGFLKKAKTEMKGCVSSHTLKVGLQGQFNMFHEVGELRFILKPSASPGGVVYAIGGLISWQILVAL",
    "NQGNANKPHSVEPHYPKRLSCGFIEDYKLAGAIGSMTGMTSNKVVCVGQGQFVREQLNFLAVGPLIPSGGLYVIDGKGPRPSAGGEVAG",
    "ESLIHSVERTSLNISSKIGALKPAKGNRKGETVNHVTKVGQGVQMLGCIKPMFGFIIKLKVLNASGLCPYATQGLKGFKKEKAG",
    "ENKCHSCPGYVNVLLKHVLEPAKTFIWMKGAIISMTSNVVGGTGPGGLLIERLGQELNPLQRVEAMGPNLGLSVYAGRVLISWVNEVAW",
]
"""Copies of one random sequence, each altered in a third of its residues."""

RNAS = [
    "GCUCAUGUAGCUCAGUUGGUAGAGCACACCCUUGGUAAGGGUGAGGUCAGCGGUUCAAAUCCGCUCAUGAGCU",
    "GCGGUUGUGGCGAAGUGGUUAACGCACCAGAUUGUGGCUCUGGCACUCGUGGGUUCGAUUCCCAUCAAUCGCC",
    "GCUUUAAAAGCUUUGCUGAAGCAACGGCCUUGUAAGUCGUAGAAAACUAUACGUUUUAAAGCU",
    "GUUUCUGUAGUUGAAUUACAACGAUGAUUUUUCAUGUCAUUGGUCGCAGUUGAAUGCUGUGUAGAAAUA",
    "ACUUUUAAAGGAUAACAGCCAUCCGUUGGUCUUAGGCCCCAAAAAUUUUGGUGCAACUCCAAAUAAAAGUA",
]
"""Transfer RNAs of the GenBank entries AE004843, Z82044, M83762, AB042432 and AC008670."""

SIX_DIGITS, FIVE_DIGITS = 6e-6, 6e-5


def all_pairs(texts: list[str]) -> PairBatch:
    sequences = SequenceBatch.from_texts(texts)
    return PairBatch(sequences, sequences, *(rows.astype(np.int32) for rows in np.triu_indices(len(texts), 1)))


def composition(texts: list[str], alphabet: Alphabet) -> npt.NDArray[np.int64]:
    fixed = fixed_emissions(alphabet)
    return np.bincount(fixed.indices[encode("".join(texts))], minlength=len(fixed.letters))


def trained(session: Session, texts: list[str], alphabet: Alphabet, n_sets: int, options: TrainingOptions) -> Trained:
    """Train on all pairs, beginning with what fsa begins with."""
    batch = all_pairs(texts)
    seed = PairHmm(SEED_GAPS[alphabet.is_nucleic, n_sets], seed_emissions(alphabet, composition(texts, alphabet)))
    return train(session, batch, seed, batch.queries.lengths.astype(np.int64), options)


def numbers(model: PairHmm) -> list[float]:
    """Return the gap parameters of a model in the order open, extend, set by set."""
    return np.stack([model.gaps.opens, model.gaps.extends], axis=1).ravel().tolist()


GLOBIN_GAPS = {
    1: [[0.0247471, 0.7048257], [0.0152550, 0.9183525], [0.0219503, 0.7886293]],
    2: [
        [0.0180178, 0.6187225, 0.0072496, 0.8484928], [0.0035651, 0.9089674, 0.0117785, 0.9312015],
        [0.0142315, 0.5632519, 0.0078005, 0.9680006],
    ],
}  # fmt: skip


@pytest.mark.parametrize("n_sets", [1, 2])
def test_gaps_of_each_pair(session: Session, n_sets: int) -> None:
    found = trained(session, GLOBINS, AMINO, n_sets, PROTEIN_TRAINING)
    assert found.common_rounds == ()
    for row, expected in enumerate(GLOBIN_GAPS[n_sets]):
        assert numbers(found.models[row]) == pytest.approx(expected, rel=2e-5)
        assert found.models[row].emissions is found.common.emissions


def test_posteriors_of_trained_models(session: Session) -> None:
    models = trained(session, GLOBINS, AMINO, 2, PROTEIN_TRAINING).models
    found = session.run(POSTERIORS, all_pairs(GLOBINS), models)
    assert np.diff(found.offsets).tolist() == [168, 160, 180]
    first = {(0, 0): 0.987459, (0, 1): 0.0122528, (1, 1): 0.91019, (1, 2): 0.088866, (2, 2): 0.122553, (2, 3): 0.876037}
    places = list(zip(found.x[:6].tolist(), found.y[:6].tolist(), strict=True))
    assert places == list(first)
    assert found.values[:6] == pytest.approx(list(first.values()), abs=5e-6)
    assert found.x_gaps[:3] == pytest.approx([0.000287933, 0.000943691, 0.00140971], abs=5e-6)
    per_site = found.log_likelihoods / [len(x) + len(y) for x, y in itertools.combinations(GLOBINS, 2)]
    assert per_site == pytest.approx([-2.502879, -2.729547, -2.779566], abs=1e-6)


KIN_ROUNDS = {
    1: [[0.0631323, 0.735614], [0.080841, 0.67866]],
    2: [[0.0433938, 0.521233, 0.0203854, 0.858481], [0.062202, 0.54596, 0.019806, 0.82035]],
}
KIN_GAPS = {
    1: {0: [0.0648295, 0.62413], 20: [0.108858, 0.61984]},
    2: {0: [0.0561866, 0.514868, 0.00905604, 0.855862], 20: [0.092244, 0.568612, 0.0174854, 0.803462]},
}
KIN_SINGLES = {
    1: [
        0.0576308, 0.0206005, 0.0106652, 0.0562935, 0.0285, 0.117518, 0.0262702, 0.0616247, 0.0866637, 0.110663,
        0.0267251, 0.0530926, 0.0548849, 0.0310956, 0.0326956, 0.0642286, 0.0326383, 0.0954379, 0.0103939, 0.0223782,
    ],
    2: [
        0.0576365, 0.020636, 0.0106222, 0.0563193, 0.028436, 0.117472, 0.0262761, 0.0615384, 0.086614, 0.11065,
        0.0267583, 0.0531022, 0.0549023, 0.0311305, 0.0326819, 0.0642785, 0.0326582, 0.0955879, 0.0103854, 0.0223148,
    ],
}  # fmt: skip
KIN_PAIRS = {
    1: [
        0.0164764, 0.000868186, 0.00036215, 0.00192186, 0.000868167, 0.00537575, 0.000619592, 0.00210331, 0.00332401,
        0.00334842,
    ],
    2: [
        0.0164885, 0.000871576, 0.000372168, 0.00192216, 0.000884824, 0.00536062, 0.000616284, 0.00214738, 0.00330489,
        0.00335088,
    ],
}  # fmt: skip


@pytest.mark.thorough(device=["gpu", "cpu"])
@pytest.mark.exhaustive(device=["gpu", "cpu"])
@pytest.mark.exhaustive(n_sets=[1])
@pytest.mark.parametrize("n_sets", [1, 2])
def test_emissions_of_all_pairs(session: Session, n_sets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "CPU_CELLS", 40_000)  # a few pairs at a time
    found = trained(session, KIN, AMINO, n_sets, PROTEIN_TRAINING)
    assert [round_.number for round_ in found.common_rounds] == [1, 2]
    for round_, expected in zip(found.common_rounds, KIN_ROUNDS[n_sets], strict=True):
        assert numbers(round_.model) == pytest.approx(expected, rel=FIVE_DIGITS)
    for row, expected in KIN_GAPS[n_sets].items():
        # Two sets of gaps hardly differ in likelihood, where fsa's sums (see below) are off in the fifth digit.
        assert numbers(found.models[row]) == pytest.approx(expected, rel=2 * SIX_DIGITS if n_sets == 1 else 1e-4)
    if n_sets == 2:
        exact = [0.05618564699, 0.51486447862, 0.00905664757, 0.85585523094]  # in double precision
        assert numbers(found.models[0]) == pytest.approx(exact, rel=3e-6)
    assert found.common.emissions.singles == pytest.approx(KIN_SINGLES[n_sets], rel=2 * SIX_DIGITS)
    assert found.common.emissions.pairs[0, :10] == pytest.approx(KIN_PAIRS[n_sets], rel=2 * SIX_DIGITS)
    assert not np.allclose(found.common.emissions.pairs, found.common.emissions.pairs.T, rtol=1e-3)


@pytest.mark.thorough
def test_sums_of_fsa_lose_small_counts() -> None:
    """fsa adds counts up over all pairs in single precision: here it says 2134.1 for what leaves match, not 2134.4."""
    seed = PairHmm(SEED_GAPS[False, 2], seed_emissions(AMINO, composition(KIN, AMINO)))
    steps = transitions_of(seed.gaps)
    exact, single = 0.0, np.float32(0)
    for x, y in itertools.combinations([encode(text) for text in KIN], 2):
        f, b = forward(x, y, seed), backward(x, y, seed)
        rows, columns = seed.emissions.indices[x], seed.emissions.indices[y]
        after = np.full(b.match.shape, -np.inf)
        after[:-1, :-1] = np.log(seed.emissions.pairs[np.ix_(rows, columns)]) + b.match[1:, 1:]
        terms = np.exp(f.match + np.log(steps.match_match) + after - f.total)[::-1, ::-1].ravel()
        exact += terms.sum()
        single = np.add.accumulate(np.append(single, terms.astype(np.float32)), dtype=np.float32)[-1]
    opened = 91.674 + 42.865  # of fsa; these sums are smaller, and lose less
    assert single + opened == pytest.approx(2134.1, abs=0.05)
    assert exact + opened == pytest.approx(2134.42, abs=0.02)


def test_emissions_of_each_pair(session: Session) -> None:
    found = trained(session, RNAS, RNA, 2, NUCLEIC_TRAINING)
    first, last = found.models[0], found.models[9]
    assert numbers(first) == pytest.approx([0.00100716, 0.972595, 0.001, 0.993451], rel=2 * SIX_DIGITS)
    assert first.emissions.singles == pytest.approx([0.260232, 0.200458, 0.247412, 0.291897], rel=2 * SIX_DIGITS)
    assert first.emissions.pairs[1] == pytest.approx([0.0502751, 0.134515, 0.0380746, 0.00624807], rel=2 * SIX_DIGITS)
    assert numbers(last) == pytest.approx([0.0178731, 0.76117, 0.00777102, 0.89663], rel=2 * SIX_DIGITS)
    assert last.emissions.pairs[3] == pytest.approx([0.088654, 0.092347, 0.026171, 0.16997], rel=FIVE_DIGITS)


POLYMERASES = {
    1: (-1178.70439, -1160.68256, [0.0244133, 0.6283612], [0.0250191, 0.5550974], [0.0331649, 0.375079]),
    2: (
        -1177.56758, -1160.52553, [0.0191545, 0.4255313, 0.0048822, 0.8185126],
        [0.0215088, 0.4346992, 0.0032564, 0.8375298], [0.0324206, 0.278695, 0.001, 0.962356],
    ),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.exhaustive(device=["gpu", "cpu"])
@pytest.mark.exhaustive(n_sets=[1])
@pytest.mark.parametrize("n_sets", [1, 2])
def test_polymerases(session: Session, data_folder: Path, n_sets: int) -> None:
    text = (data_folder / "msa" / "fsa_examples" / "RV12.BBS12030.fasta").read_text("ascii")
    texts = ["".join(part.split("\n")[1:]) for part in text.split(">")[1:]]
    found = trained(session, texts, AMINO, n_sets, PROTEIN_TRAINING)
    first, second, after_first, after_second, of_pair = POLYMERASES[n_sets]
    assert [round_.log_likelihood for round_ in found.common_rounds] == pytest.approx([first, second], abs=3e-5)
    assert numbers(found.common_rounds[0].model) == pytest.approx(after_first, rel=2e-5)
    assert numbers(found.common) == pytest.approx(after_second, rel=2e-5)
    assert numbers(found.models[0]) == pytest.approx(of_pair, rel=2e-5)


@pytest.mark.parametrize(
    ("lengths", "learned"),
    [([40, 40], (False, False)), ([25] * 4, (True, False)), ([147] * 3, (True, False)), ([236] * 6, (True, True))],
)
def test_what_there_is_enough_data_for(lengths: list[int], learned: tuple[bool, bool]) -> None:
    assert what_to_learn(np.array(lengths), PROTEIN_TRAINING) == learned
    nothing = replace(PROTEIN_TRAINING, gaps=False, emissions="none")
    assert what_to_learn(np.array(lengths), nothing) == (False, False)


def test_data_of_all_pairs_count_only_where_there_is_a_limit() -> None:
    whatever = replace(PROTEIN_TRAINING, least_total_emission_data=-1)
    assert what_to_learn(np.array([4, 4]), whatever) == (False, True)
    large = replace(PROTEIN_TRAINING, least_gap_data=10**6, least_emission_data=10**6)
    assert what_to_learn(np.array([236] * 6), large) == (True, True)
    assert what_to_learn(np.array([4, 4]), NUCLEIC_TRAINING) == (True, True)


def test_short_pairs_learn_nothing(session: Session) -> None:
    found = trained(session, [text[:25] for text in KIN[:4]], AMINO, 2, PROTEIN_TRAINING)
    assert all(numbers(found.models[row]) == numbers(found.common) for row in range(6))
    none = trained(session, ["", KIN[0], ""], AMINO, 2, PROTEIN_TRAINING)
    assert len(none.models) == 3
    assert none.models[0].gaps.opens.tolist() == SEED_GAPS[False, 2].opens.tolist()


def test_limits_of_parameters() -> None:
    """What is never seen keeps a least chance, and gaps that always go on or always open are drawn back."""
    seed = PairHmm(SEED_GAPS[False, 2], fixed_emissions(AMINO))
    zeros = {name: np.zeros((1, 2)) for name in ("opens", "extends", "closes")}
    rest = {"inserts": np.zeros((1, 20)), "deletes": np.zeros((1, 20)), "log_likelihoods": np.zeros(1)}
    counts = ExpectedCounts(match_match=np.array([1e6]), matches=np.zeros((1, 20, 20)), **zeros, **rest)
    bare = replace(PROTEIN_TRAINING, regularize=False)
    found = maximized_gaps(counts, seed.gaps, 1, bare)
    assert found.opens.tolist() == [[0.001, 0.001]]
    many = replace(counts, match_match=np.zeros(1), opens=np.full((1, 2), 1e6), extends=np.full((1, 2), 1e6))
    found = maximized_gaps(many, seed.gaps, 1, bare)
    assert found.opens[0] == pytest.approx([0.4995, 0.4995])
    assert found.extends[0] == pytest.approx([0.998, 0.998])
    kept = maximized_emissions(counts, 0, seed.emissions, 1, PROTEIN_TRAINING)
    assert kept.pairs == pytest.approx(seed.emissions.pairs)
