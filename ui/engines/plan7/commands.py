"""Commands for profiles."""

from __future__ import annotations

from ...services.app_context import AppContext
from ...services.commands import Command, Elsewhere, no_alignment, no_devices, no_hit, no_rows
from .profile_controller import ProfileController
from .run_view import ProfileRunView


def no_profile(app: AppContext) -> str:
    """Return why there is no logo to open."""
    profiles = app.workspace.profiles
    return "" if profiles is not None and profiles.cards else Elsewhere("Open a profile file first.")


def no_logo(app: AppContext) -> str:
    """Return why there is no logo to export."""
    controller = app.findChild(ProfileController)
    view = controller.view if controller is not None else None
    return "" if view is not None and view.figure is not None else Elsewhere("Open a profile first.")


def no_calibration(app: AppContext) -> str:
    """Return why nothing can be calibrated."""
    profiles = app.workspace.profiles
    if profiles is None or profiles.state != "ready":
        return Elsewhere("Open a profile file first.")
    if any(card["origin"] == "hmmer3" for card in profiles.cards):
        return Elsewhere("Only HMMER2 profiles are calibrated this way; HMMER3's are calibrated when built.")
    return no_devices(app)


def nothing_to_align(app: AppContext) -> str:
    """Return why no sequences can be aligned to a profile."""
    profiles, sequences = app.workspace.profiles, app.workspace.sequences
    if profiles is None or profiles.state != "ready" or sequences is None or sequences.state != "ready":
        return Elsewhere("Open a profile file and sequences first.")
    if len(profiles.cards) != 1 or profiles.cards[0]["origin"] != "hmmer3":
        return Elsewhere("Sequences are aligned to a file with one profile of HMMER3.")
    return no_devices(app)


def no_round(app: AppContext) -> str:
    """Return why no further round can be searched."""
    run = app.page.run if app.page is not None else None
    return "" if isinstance(run, ProfileRunView) and run.can_choose else Elsewhere("Open a search in rounds at rest.")


def no_round_begun(app: AppContext) -> str:
    """Return why there is no round to stop after."""
    run = app.page.run if app.page is not None else None
    is_live = isinstance(run, ProfileRunView) and run.is_of_rounds and run.is_live
    return "" if is_live else Elsewhere("Open a search in rounds that is computed now.")


COMMANDS = (
    Command("search.profiles.open_chosen", "Logo of the chosen profile", "View", "Ctrl+L", "alphabetical-variant",
            no_profile, "Letters, occupancy and insertions of the profile for the next search", before="show_start"),
    Command("search.profiles.export_logo", "Export logo…", "File", "", "export-variant", no_logo, before="close_page"),
    Command("search.run", "Run search…", "Run", "Ctrl+R", "play",
            tip="Opens the search sheet; starts the search when it is open", before="stop_job",
            words="find homologs families domains hmmsearch hmmscan"),
    Command("search.open_sequences", "Search with sequences (phmmer)…", "Run", "", "magnify-scan",
            tip="Of each query a profile is made with a substitution matrix, and searched with", before="stop_job",
            words="find homologs blast"),
    Command("search.open_sequences:rounds", "Search in rounds (jackhmmer)…", "Run", "", "autorenew",
            tip="Sequences, and again with a profile of what they found", before="stop_job",
            words="find homologs distant relatives psi-blast iterative"),
    Command("search.one_more_round", "One more round", "Run", "", "plus", no_round,
            "Goes on with one round more than were asked for, with the ticked hits", before="stop_job"),
    Command("search.stop_after_round", "Stop after this round", "Run", "", "stop", no_round_begun,
            "The search ends with the rounds that are begun, and can go on later", before="stop_job"),
    Command("search.search_with_hit", "Search with this sequence…", "", "", "magnify-scan", no_hit,
            "Opens the sheet of a search with sequences, with the whole sequence of the selected hit",
            before="stop_job"),
    Command("search.search_with_hit:rounds", "Search in rounds with this sequence…", "", "", "autorenew", no_hit,
            "Opens the sheet of a search in rounds, with the whole sequence of the selected hit", before="stop_job"),
    Command("search.search_with_row", "Search with the sequence of this row…", "Alignment", "", "magnify-scan", no_rows,
            "Opens the sheet of a search with sequences, with that of the cursor's row", separator=True,
            before="devices.focus_devices"),
    Command("labs.open:ladder", "Ladder of Plan7 Viterbi", "Devices", "F7", "stairs",
            tip="Every rung of the published ladder, run on your device and checked", before="labs.open:comparison"),
    Command("search.aligning.align_chosen", "Align to profile", "Run", "", "format-align-justify", nothing_to_align,
            "Aligns the chosen sequences to the chosen profile, as hmmalign does, and shows the alignment",
            separator=True, before="set_theme:light"),
    Command("search.building.build_chosen", "Build a profile from the chosen alignment", "Run", "", "hammer-wrench",
            no_alignment, "Builds a HMMER3 profile from the alignment among the opened files",
            before="set_theme:light"),
    Command("search.building.build_shown", "Build a profile", "Alignment", "", "hammer-wrench", no_rows,
            "Builds a HMMER3 profile from the alignment in view, and shows its logo", separator=True,
            before="devices.focus_devices"),
    Command("search.building.search_with_shown", "Search with this alignment…", "Alignment", "", "magnify", no_rows,
            "Builds a HMMER3 profile from the alignment in view, and opens the search sheet with it",
            before="devices.focus_devices"),
    Command("search.calibrating.calibrate", "Calibrate the chosen profile…", "Run", "", "chart-bell-curve-cumulative",
            no_calibration, "Fits the scores of random sequences, so that E-values are estimates",
            before="set_theme:light"),
)  # fmt: skip
