#!/usr/bin/env bash
# Makes in dist/: the wheel with man pages and completions, the folder that needs no Python (clalign/ and as .tar.xz),
# and clalign_VERSION_amd64.deb: that folder in /opt/clalign, with menu entry, icons, file types, man pages, completions.
# Needs python3 with venv, binutils, xz and dpkg-deb. The checkout stays as it is. Some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

# The wheel, twice: parsers of the first one make what the second one holds besides.
tree=$work/tree
mkdir "$tree"
cp -a clalign ui kernels_cl resources pyproject.toml setup.py README.md LICENSE MANIFEST.in "$tree"
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
python3 -m venv "$work/venv"
bin=$work/venv/bin
"$bin/pip" -q wheel --no-deps -w "$work/wheel" "$tree"
"$bin/pip" -q install "$work"/wheel/*.whl "pyinstaller>=6.10"
version=$("$bin/python" -P -c 'import clalign; print(clalign.__version__)')
share=$tree/share
mkdir -p "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$bin/python" -P packaging/man_pages.py "$share/man/man1"
"$bin/clalign" completion bash > "$share/bash-completion/completions/clalign"
"$bin/clalign" completion zsh > "$share/zsh/site-functions/_clalign"
"$bin/clalign" completion fish > "$share/fish/vendor_completions.d/clalign.fish"
rm -rf "$work/wheel" "$tree/build"
"$bin/pip" -q wheel --no-deps -w "$work/wheel" "$tree"

# The folder.
(cd "$work" && "$bin/pyinstaller" --noconfirm --log-level WARN --distpath "$work/dist" --workpath "$work/build" \
    "$root/packaging/clalign.spec")

# The Debian package.
deb=$work/deb
mkdir -p "$deb/DEBIAN" "$deb/opt" "$deb/usr/bin" "$deb/usr/share/doc/clalign"
cp -a "$work/dist/clalign" "$deb/opt/clalign"
ln -s ../../opt/clalign/clalign "$deb/usr/bin/clalign"
cp LICENSE "$deb/usr/share/doc/clalign/copyright"
cp -a "$share/." "$deb/usr/share/"
mv "$deb/usr/share/zsh/site-functions" "$deb/usr/share/zsh/vendor-completions"
gzip -9n "$deb"/usr/share/man/man1/*.1
"$bin/python" -P - "$deb/usr/share" <<'PYTHON'
import sys
from pathlib import Path

from clalign.cli.desktop import desktop_files

for name, content in desktop_files(["/usr/bin/clalign", "gui"]).items():
    path = Path(sys.argv[1]) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
PYTHON
cat > "$deb/DEBIAN/control" <<CONTROL
Package: clalign
Version: $version
Architecture: amd64
Maintainer: The clalign developers <noreply@example.org>
Section: science
Priority: optional
Installed-Size: $(du -sk "$deb" | cut -f1)
Depends: libc6, libegl1, libgl1, libxkbcommon0, libdbus-1-3, libfontconfig1, libglib2.0-0 | libglib2.0-0t64, libgssapi-krb5-2,
 libx11-6, libx11-xcb1, libxkbcommon-x11-0, libxcb-cursor0, libxcb-icccm4, libxcb-image0, libxcb-keysyms1, libxcb-randr0,
 libxcb-render0, libxcb-render-util0, libxcb-shape0, libxcb-shm0, libxcb-sync1, libxcb-util1, libxcb-xfixes0, libxcb-xkb1,
 libwayland-cursor0
Recommends: pocl-opencl-icd | opencl-icd
Description: profile HMM search on any OpenCL device
 Searches sequences with profile HMMs on graphics cards and processors, in a
 window or on the command line, with the scores of HMMER; compares sequences
 (Smith-Waterman) and aligns many of them (FSA).
CONTROL

mkdir -p dist
rm -rf dist/clalign
cp "$work"/wheel/*.whl dist/
cp -a "$work/dist/clalign" dist/clalign
tar -C "$work/dist" -c clalign | xz -T0 -3 > "dist/clalign-$version-linux-$(uname -m).tar.xz"
dpkg-deb -Zxz -z3 --root-owner-group -b "$deb" "dist/clalign_${version}_amd64.deb"
ls -l dist
