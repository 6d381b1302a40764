#!/usr/bin/env bash
# Makes dist/clalign_VERSION_amd64.deb: the frozen program in /opt/clalign, with menu entry, icons and file types.
# Needs python3 with venv, binutils and dpkg-deb.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q wheel --no-deps -w "$work/wheel" .
"$work/venv/bin/pip" -q install "$work"/wheel/*.whl "pyinstaller>=6.10"
(cd "$work" && "$work/venv/bin/pyinstaller" --noconfirm --log-level WARN --distpath "$work/dist" --workpath "$work/build" \
    "$root/packaging/clalign.spec")

version=$("$work/venv/bin/python" -P -c 'import clalign; print(clalign.__version__)')
tree=$work/deb
mkdir -p "$tree/DEBIAN" "$tree/opt" "$tree/usr/bin" "$tree/usr/share/doc/clalign"
cp -a "$work/dist/clalign" "$tree/opt/clalign"
ln -s ../../opt/clalign/clalign "$tree/usr/bin/clalign"
cp LICENSE "$tree/usr/share/doc/clalign/copyright"
"$work/venv/bin/python" -P - "$tree/usr/share" <<'PYTHON'
import sys
from pathlib import Path

from clalign.cli.desktop import desktop_files

for name, content in desktop_files(["/usr/bin/clalign", "gui"]).items():
    path = Path(sys.argv[1]) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
PYTHON
cat > "$tree/DEBIAN/control" <<CONTROL
Package: clalign
Version: $version
Architecture: amd64
Maintainer: The clalign developers <noreply@example.org>
Section: science
Priority: optional
Installed-Size: $(du -sk "$tree" | cut -f1)
Depends: libc6, libegl1, libgl1, libxkbcommon0, libdbus-1-3, libfontconfig1, libglib2.0-0 | libglib2.0-0t64, libgssapi-krb5-2,
 libx11-6, libx11-xcb1, libxkbcommon-x11-0, libxcb-cursor0, libxcb-icccm4, libxcb-image0, libxcb-keysyms1, libxcb-randr0,
 libxcb-render0, libxcb-render-util0, libxcb-shape0, libxcb-shm0, libxcb-sync1, libxcb-util1, libxcb-xfixes0, libxcb-xkb1,
 libwayland-cursor0
Recommends: pocl-opencl-icd | opencl-icd
Description: profile HMM search on any OpenCL device
 Searches sequences with profile HMMs on graphics cards and processors, in a
 window or on the command line, with the scores of HMMER.
CONTROL
mkdir -p dist
dpkg-deb -Zxz --root-owner-group -b "$tree" "dist/clalign_${version}_amd64.deb"
