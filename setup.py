"""Map the folders of the repository to the one installed package, ``clalign``."""

from setuptools import find_packages, setup

ROOMS = {
    "clalign": "clalign",
    "clalign.ui": "ui",
    "clalign.kernels_cl": "kernels_cl",
    "clalign.resources": "resources",
}

setup(
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
)
