import ast
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit

from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.plan7.estimate import estimate
from clalign.engines.plan7.spec import PRESETS, SearchSpec
from clalign.execution.speed import START_SECONDS
from clalign.ui import formatting
from clalign.ui.engines.plan7.notices import notices, reason_not_to_run, source_offers
from clalign.ui.engines.plan7.sheet import SearchForm
from clalign.ui.models import device_words
from clalign.ui.models.data_tree import distinct_titles
from clalign.ui.models.file_names import distinct_names
from clalign.ui.models.results.scripts import as_command, as_python
from clalign.ui.models.workspace import Source, Workspace
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.widgets.option_form import OptionForm
from clalign.ui.views.widgets.spec_sheet import BUILDING_UNKNOWN
from clalign.values.devices import REFERENCE, Device
from clalign.values.specs import options_of


def test_the_form_has_every_option_with_its_flag(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    values, problem = form.values()
    assert not problem
    assert SearchSpec("a", "b", **values) == SearchSpec("a", "b")
    assert values.keys() == {field.name for field in options_of(SearchSpec)} - {"shard"}


@pytest.mark.parametrize("text", ["abc", "-3", "0", "", "nan", "inf"])
def test_what_is_no_number_is_said(qtbot: Any, text: str) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.editors["evalue"].setText(text)
    assert "E-value at most" in form.values()[1]


def test_values_go_in_and_come_out(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.offer_cutoffs({"ga": 25.0})
    form.set_values({"evalue": 1e-3, "score": 20.0, "without_null2": True, "cutoff": "ga"})
    values, _ = form.values()
    assert (values["evalue"], values["score"], values["without_null2"]) == (1e-3, 20.0, True)
    assert values["cutoff"] == "ga"
    form.offer_cutoffs({})
    assert form.values()[0]["cutoff"] == "none"
    assert not form.reset_button.isHidden(), "options of the last run are not silent"
    form.reset_button.click()
    assert form.reset_button.isHidden()
    assert SearchSpec("a", "b", **form.values()[0]) == SearchSpec("a", "b")


@pytest.mark.parametrize("direction", ["search", "rounds"])
def test_what_is_typed_can_be_reset_with_the_keyboard(qtbot: Any, direction: str) -> None:
    form = SearchForm(direction)
    qtbot.addWidget(form)
    with qtbot.waitActive(form):
        form.show()
    assert form.reset_button.isHidden()
    for text in ("5", "abc"):
        form.editors["evalue"].setText(text)
        form.reset_button.setFocus()
        QTest.keyClick(form.reset_button, Qt.Key.Key_Space)
        assert form.reset_button.isHidden()
        assert form.more_button.hasFocus()


@pytest.mark.parametrize(
    ("n_bare", "n_all", "who"),
    [(40, 80, "40 of the profiles have"), (1, 80, "1 of the profiles has"), (1, 1, "This HMMER2 profile has"),
     (3, 3, "These HMMER2 profiles have")],
)  # fmt: skip
def test_card_and_form_say_the_same_of_missing_calibrations(n_bare: int, n_all: int, who: str) -> None:
    known = {"calibration": {"mu": 1.0, "lambda": 0.7}}
    cards = [{"name": str(i), "origin": "hmmer2", **(known if i >= n_bare else {})} for i in range(n_all)]
    source = Source("/x.hmm", kind="profiles", state="ready", cards=cards)
    (notice,) = notices(source, None, None)
    (line,) = [offer.notice[1] for offer in source_offers(source) if offer.notice[0]]
    assert notice.text == line
    assert line.startswith(f"{who} no calibration, so ")
    assert "E\u2011values" in line, "not broken after the E"


def test_scripts_say_what_differs_from_the_defaults() -> None:
    spec = SearchSpec("my profile.hmm", "b.fasta", evalue=0.5, without_null2=True)
    assert as_command(spec) == "clalign hmmsearch -E 0.5 --nonull2 'my profile.hmm' b.fasta"
    program = as_python(spec)
    ast.parse(program)
    assert "evalue=0.5" in program
    assert "inclusion" not in program


def test_a_program_of_a_search_in_rounds_goes_through_its_rounds() -> None:
    program = as_python(SearchSpec("q.fasta", "b.fasta", direction="rounds", inclusion_evalue=0.01))
    begun = ast.parse(program).body[1]
    assert isinstance(begun, ast.With)
    assert isinstance(begun.body[0], ast.For)
    assert "inclusion_evalue=0.01" in program, "it is what other commands take by default"
    assert "inclusion_domain_evalue" in program


def profile(**more: Any) -> Source:
    card = {"name": "x", "origin": "hmmer2", "alphabet": "amino", "calibration": {"mu": 1, "lambda": 1}, **more}
    return Source("p.hmm", "profiles", "ready", cards=[card])


def sequences(alphabet: str = "amino") -> Source:
    return Source("s.fasta", "sequences", "ready", report={"alphabet": alphabet})


READY = Device("0:0", "GPU", "gpu", health="ready")


def test_notices_say_what_is_wrong_with_a_combination() -> None:
    assert notices(profile(), sequences(), READY) == []
    statistics = {"msv": {}, "viterbi": {}, "forward": {}}
    assert notices(profile(origin="hmmer3", calibration=None, calibration3=statistics), sequences(), READY) == []
    bare = notices(profile(origin="hmmer3", calibration=None), sequences(), READY)[0]
    assert bare.blocks
    assert "values are rough" in notices(profile(calibration=None), sequences(), READY)[0].text
    wrong = notices(profile(), sequences("dna"), READY)[0]
    assert wrong.blocks
    assert [name for name, _ in wrong.ways] == ["sources.open_files", "search.take_as:amino"]
    little = Source("s.fasta", "sequences", "ready", report={"alphabet": "dna", "is_doubtful": True})
    (taken,) = notices(profile(), little, READY)  # as the search does
    assert (taken.severity, taken.blocks) == ("caution", False)
    assert "Taken for protein" in taken.text
    both = Source("p.hmm", "profiles", "ready", cards=[*profile().cards, *profile(name="y", alphabet="dna").cards])
    (mixed,) = notices(both, sequences("dna"), READY)
    assert (mixed.severity, mixed.blocks) == ("caution", False)
    assert "1 of 2 profiles, x the first, are for protein" in mixed.text
    assert notices(profile(), sequences(), REFERENCE)[0].severity == "caution"
    broken = Device("1:0", "Card", "gpu", health="not usable", problem="No answer.")
    assert notices(profile(), sequences(), broken)[0].blocks


def test_the_reason_not_to_run(qtbot: Any) -> None:
    space = Workspace()
    assert reason_not_to_run(space) == "Choose a profile and sequences first."
    space.put(profile())
    space.put(Source("s.fasta", "sequences"))
    space.choose("s.fasta")
    assert "being read" in reason_not_to_run(space)
    space.put(sequences())
    space.set_devices([READY])
    assert reason_not_to_run(space) == ""


def test_automatic_is_the_fastest_usable_gpu_then_cpu_then_the_reference(qtbot: Any) -> None:
    space = Workspace()
    cpu = Device("1:0", "CPU", "cpu", health="ready", gcups=99.0)
    broken = Device("2:0", "Bad", "gpu", health="self-test failed", gcups=500.0)
    assert space.device == REFERENCE
    space.set_devices([cpu, broken])
    assert space.device == cpu
    space.set_devices([cpu, broken, READY])
    assert space.device == READY
    space.choose_device("reference")
    assert space.device == REFERENCE


def test_every_health_has_words() -> None:
    for health in ("ready", "not tested", "needs linker", "self-test failed", "not usable"):
        severity, words = device_words.health(Device("0:0", "x", "gpu", health=health))
        assert words
        assert severity in ("good", "note", "caution", "stop")


def test_an_option_from_the_last_search_is_never_hidden(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.set_values({"evalue": 5.0, "score": None})
    assert form.more.isHidden()
    form.set_values({"score": 50.0})
    assert not form.more.isHidden()
    rounds = SearchForm("rounds")
    qtbot.addWidget(rounds)
    assert rounds.values()[0]["inclusion_evalue"] == 0.001
    assert rounds.more.isHidden(), "its usual limit is another one"
    rounds.set_values({"inclusion_evalue": 0.01})
    assert not rounds.more.isHidden()


@pytest.mark.parametrize(("reported", "looser"), [("evalue", 5e-4), ("domain_evalue", 5e-4), ("score", 50.0)])
def test_a_threshold_of_significance_that_is_looser_is_told_beside_it(qtbot: Any, reported: str, looser: float) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.set_values({reported: looser, f"inclusion_{reported}": 40.0 if reported == "score" else 1e-3})
    hint = form.hints[f"inclusion_{reported}"]
    assert not hint.isHidden()
    assert not form.values()[1], "it is no fault"
    form.set_values({f"inclusion_{reported}": looser})
    assert hint.isHidden()


@pytest.mark.parametrize("has_hmmer3", [False, True])
@pytest.mark.parametrize("other", [{"score": 20.0}, {"inclusion_score": 20.0}, {"cutoff": "ga"}])
def test_a_threshold_that_does_not_count_is_not_called_looser(
    qtbot: Any, other: dict[str, object], has_hmmer3: bool
) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.offer_presets(has_hmmer3)
    form.offer_cutoffs({"ga": 20.0})
    form.set_values({"inclusion_evalue": 50.0})
    assert not form.hints["inclusion_evalue"].isHidden()
    form.set_values(other)
    assert form.hints["inclusion_evalue"].isHidden()


def test_a_seed_is_a_whole_number(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.set_values({"seed": 7})
    assert form.values() == ({**form.values()[0], "seed": 7}, "")
    assert isinstance(form.values()[0]["seed"], int)
    for text in ("1.5", "-1", "x"):
        form.editors["seed"].setText(text)
        assert "Random seed" in form.values()[1]


def test_words_stand_in_place_of_a_value_that_says_nothing(qtbot: Any) -> None:
    form = OptionForm(AlignmentSpec, "sequences")
    qtbot.addWidget(form)
    sweeps = form.editors["refinement"]
    assert isinstance(sweeps, QLineEdit)
    assert (sweeps.text(), sweeps.placeholderText()) == ("", "until nothing improves")
    assert form.values()[0]["refinement"] == -1
    sweeps.setText("3")
    assert form.values()[0]["refinement"] == 3
    form.set_values({"refinement": -1})
    assert sweeps.text() == ""


def test_presets_are_recognized_and_only_offered_for_filters(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    assert form.presets.currentData() == "default"
    for key, (_, values) in PRESETS.items():
        form.set_values({"f1": 0.02, "f2": 1e-3, "without_filters": False, **values})
        assert form.presets.currentData() == key
    n_presets = form.presets.count()
    form.set_values({"f1": 0.5})
    assert (form.presets.count(), form.presets.currentIndex()) == (n_presets + 1, n_presets)
    form.set_values({"f1": 0.02, "f2": 1e-3, "without_filters": False})
    assert (form.presets.count(), form.presets.currentData()) == (n_presets, "default")
    form.offer_presets(False)
    assert not form.presets.isVisibleTo(form)


def test_options_that_take_each_others_place_are_never_both_given(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.offer_cutoffs({"ga": 25.0})
    form.offer_presets(True)
    form.set_values({"evalue": 1e-3, "score": 20.0, "inclusion_evalue": 1e-5})
    assert (form.values()[0]["evalue"], form.values()[0]["score"]) == (10.0, 20.0)
    assert not form.editors["evalue"].isEnabled()
    form.editors["evalue"].setText("many")
    assert form.values()[1] == "", "what does not count need not make sense"
    form.editors["evalue"].setText("0.002")
    form.set_values({"cutoff": "ga"})
    spec = SearchSpec("a", "b", **form.values()[0])
    assert as_command(spec) == "clalign hmmsearch --cut_ga a b"
    form.set_values({"cutoff": "none", "score": None})
    assert as_command(SearchSpec("a", "b", **form.values()[0])) == "clalign hmmsearch -E 0.002 --incE 1e-05 a b"
    assert form.editors["evalue"].isEnabled()
    form.set_values({"f1": 0.1, "without_bias_filter": True, "without_filters": True})
    assert as_command(SearchSpec("a", "b", **form.values()[0])).split()[-3:] == ["--max", "a", "b"]
    assert form.presets.currentData() == "max"


def test_both_limits_count_for_hmmer2_profiles(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    form.set_values({"evalue": 1e-3, "score": 20.0})
    form.offer_presets(True)
    form.offer_presets(False)
    assert form.editors["evalue"].isEnabled()
    assert (form.values()[0]["evalue"], form.values()[0]["score"]) == (1e-3, 20.0)


def test_a_trial_of_a_tuning_in_a_line() -> None:
    row = {"choice": "ssv.nodes", "value": 24, "shape": "item", "gcups": 0.0, "problem": "its scores differ"}
    assert device_words.trial(row) == "SSV: nodes per strip: 24 (item) · its scores differ"
    assert device_words.trial({**row, "choice": "strip_nodes"}).startswith("Nodes per strip: 24")
    row = {"choice": "pair.vector_bits", "value": 512, "shape": "vector", "gcups": 50.0, "problem": ""}
    assert device_words.trial(row).startswith("Smith-Waterman: bits of all lanes: 512 (vector) · 50")


@pytest.mark.thorough
def test_all_fields_of_a_sheet_stand_below_each_other_and_queries_are_pasted_below_queries(
    qtbot: Any, window: MainWindow
) -> None:
    for form in window.controller.forms.values():
        form.open_sheet()
        sheet: Any = form.sheet
        sheet.form.toggle_more()
        qtbot.wait(1)
        fields = [f for kind in (QComboBox, QLineEdit) for f in sheet.findChildren(kind) if f.isVisible()]
        places = {(f.mapTo(sheet, f.rect().topLeft()).x(), f.width()) for f in fields}
        assert len({left for left, _ in places}) <= 2, f"{sheet.heading}: {places}"  # a threshold has two beside it
        assert len(places) <= 3, f"{sheet.heading}: {places}"
        if hasattr(sheet, "paste_button"):
            tops = [w.mapTo(sheet, w.rect().topLeft()).y() for w in (sheet.queries, sheet.paste_button, sheet.targets)]
            assert tops == sorted(tops)
        window.sheets.close_sheet()


def test_the_sheet_tells_how_long_kernels_are_prepared(
    qtbot: Any, loaded: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet: Any = loaded.controller.search.sheet
    qtbot.waitUntil(lambda: sheet.run_button.isEnabled())
    before, _, more = sheet.estimate.text().partition(", ")
    assert more == BUILDING_UNKNOWN, "nobody has looked yet"
    sheet.form.set_values({"without_filters": True})
    sheet.request_forecast()
    qtbot.waitUntil(lambda: "to prepare" in sheet.estimate.text())
    assert sheet.estimate.text() == f"{before}, and about 18{formatting.THIN}s to prepare the device"
    sheet.form.set_values({"without_filters": False})
    assert sheet.estimate.text() == f"{before}, {BUILDING_UNKNOWN}", "what was told was of other options"
    sheet.request_forecast()
    qtbot.waitUntil(lambda: loaded.controller.inspector.is_idle)
    assert sheet.estimate.text() == before, "all are kept"


def test_the_sheet_tells_the_time_that_a_dry_run_tells(
    qtbot: Any, loaded: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = dataclasses.replace(REFERENCE, id="0:0", kind="cpu", gcups=1e-5)
    monkeypatch.setattr(Workspace, "device", property(lambda self: device))
    sheet: Any = loaded.controller.search.sheet
    space = loaded.controller.workspace
    assert space.sequences is not None
    models = [(card["origin"], card["length"]) for card in space.profiles.cards]
    cells = sum(length for _, length in models) * space.sequences.report["n_residues"]
    messages = []
    for values in ({"without_filters": False}, {"without_filters": True}):
        sheet.form.set_values(values)
        sheet.show_spec()
        messages.append(sheet.estimate.text().partition(", and ")[0])  # kernels may be told by now
        assert messages[-1] == formatting.about(estimate(models, cells, sheet.spec, [device]).seconds or 0)
    assert messages[0].startswith("about ")


def test_an_estimate_follows_the_last_similar_search_on_the_device(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], searched: Callable[[MainWindow], Any]
) -> None:
    space, search = loaded.controller.workspace, loaded.controller.search
    sheet: Any = search.sheet
    before = sheet._estimate().seconds
    at_cells = before - START_SECONDS
    manners(pause=0.2, forecast=1e8 / at_cells)  # cells as many as in these seconds, which take about two
    page = searched(loaded)
    took = 1e8 / page.window().controller.queue.items[0].course.rates[1]
    assert took > 4 * at_cells
    search.open_sheet()
    again: Any = search.sheet
    assert again._estimate().seconds == before
    assert again.estimate.text().startswith(formatting.about(START_SECONDS + took))
    space.choose_device("1:0")
    assert again.estimate.text().startswith(formatting.about(again._estimate().seconds)), "another device"


@pytest.mark.thorough(how=["run"])
@pytest.mark.parametrize("how", ["another spec", "another wish", "run", "close"])
def test_what_a_run_would_take_is_asked_no_longer_than_it_matters(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], how: str
) -> None:
    sheet: Any = loaded.controller.search.sheet
    qtbot.waitUntil(lambda: sheet.run_button.isEnabled())
    inspector = loaded.controller.inspector
    qtbot.waitUntil(lambda: inspector.is_idle)
    manners(lingers=600)
    sheet.request_forecast()
    asked = inspector.dry_run_worker
    qtbot.waitUntil(lambda: asked.pid > 0)
    pid = asked.pid
    sheet.request_forecast()
    assert inspector.dry_run_worker is asked, "of the same spec it is asked once"
    if how == "another wish":
        inspector.dry_run("search", {}, lambda found: None)
        assert inspector.dry_run_worker is not asked
    elif how == "another spec":
        sheet.form.set_values({"without_filters": True})
    elif how == "run":
        sheet.run_button.click()
    else:
        loaded.sheets.close_sheet()
    assert not psutil.pid_exists(pid)
    inspector.stop_dry_run()
    assert inspector.is_idle


@pytest.mark.thorough
def test_what_goes_wrong_while_nothing_was_ordered_is_not_reported(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None]
) -> None:
    sheet: Any = loaded.controller.search.sheet
    qtbot.waitUntil(lambda: sheet.run_button.isEnabled())
    inspector = loaded.controller.inspector
    qtbot.waitUntil(lambda: inspector.is_idle)
    before = sheet.estimate.text().partition(", ")[0]
    manners(fault=True)
    messages: list[str] = []
    inspector.fault_found.connect(lambda message, *_: messages.append(message))
    sheet.request_forecast()
    assert not inspector.is_idle
    qtbot.waitUntil(lambda: inspector.is_idle)
    assert not messages
    assert sheet.estimate.text() == before
    sheet.request_forecast()
    assert inspector.is_idle, "it is not asked again"


def test_files_of_one_name_are_distinguished_and_stand_where_their_names_say() -> None:
    sources = [
        Source("/a/globins.fa", "sequences"), Source("/b/globins.fa", "sequences"),
        *(Source(f"/r/{n}.clalign", "run", report={"title": "x x y"}) for n in (1, 2)),
        Source("/c/alone.fa", "sequences"), *(Source(f"/{n}/d/deep.hmm", "profiles") for n in "ab"),
    ]  # fmt: skip
    found = distinct_titles(sources)
    names = [found[source.path] for source in sources]
    assert names == ["globins.fa – a", "globins.fa – b", "x x y (1)", "x x y (2)", "alone.fa",
                     f"deep.hmm – {Path('a', 'd')}", f"deep.hmm – {Path('b', 'd')}"]  # fmt: skip
    shown = distinct_names(["/x.fa", "/a/x.fa", "/a//x.fa", "x.fa"])
    assert shown == {"/x.fa": f"x.fa – {Path('/')}", **dict.fromkeys(("/a/x.fa", "/a//x.fa"), f"x.fa – {Path('/a')}"),
                     "x.fa": "x.fa – ."}  # fmt: skip
    looks = {Source(f"/a/{name}").kind_by_name for name in ("a.hmm", "b.HMM.gz", "c.h3m", "d.hmm2.zst")}
    assert looks == {"profiles"}
    assert {Source(f"/a/{name}").kind_by_name for name in ("a.fa", "b.hmm.fasta", "c.gz", "hmm")} == {"sequences"}


def test_the_tab_key_goes_from_the_cutoff_to_the_presets(qtbot: Any) -> None:
    form = SearchForm()
    qtbot.addWidget(form)
    assert form.editors["evalue"].nextInFocusChain() is form.presets
