"""Map the folders of the repository to the one installed package, ``clalign``."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOMS = {
    "clalign": "clalign",
    "clalign.ui": "ui",
    "clalign.kernels_cl": "kernels_cl",
    "clalign.resources": "resources",
}

MADE = Path("share")
"""What packaging/build.sh makes for a release: man pages and completions. A checkout has none."""


class BuildWithDocuments(build_py):
    """Installs the documents, too: the help of the window shows them."""

    def run(self) -> None:
        """Copy the program, then the documents."""
        super().run()
        if not self.editable_mode:
            for page in sorted(Path("docs").rglob("*.md")):
                target = Path(self.build_lib, "clalign", page)
                self.mkpath(str(target.parent))
                self.copy_file(str(page), str(target))


setup(
    cmdclass={"build_py": BuildWithDocuments},
    package_dir=ROOMS,
    packages=[
        package
        for name, folder in ROOMS.items()
        for package in [name, *(f"{name}.{sub}" for sub in find_packages(folder))]
    ],
    package_data={
        "clalign": ["py.typed"],
        "clalign.kernels_cl": ["**/*.cl", "**/*.h"],
        "clalign.resources": ["**/*"],
    },
    data_files=[
        (str(folder), [str(file) for file in sorted(folder.iterdir()) if file.is_file()])
        for folder in MADE.rglob("*")
        if folder.is_dir()
    ],
)
