#!/usr/bin/env bash
# Installs a .deb of build.sh in a new, minimal Debian and starts it there: packaging/try_deb.sh dist/clalign_*.deb [SUITE]
# The root holds apt and what the package depends on, nothing else: no Python, compiler or driver. As root; needs
# mmdebstrap and a mirror; for the window Xvfb (its socket is seen from inside) and, for a picture of it, ImageMagick.
set -euo pipefail
package=$(realpath "$1")
suite=${2:-bookworm}
picture=$PWD/clalign-window.png
work=$(mktemp -d)
screen=
trap '[ -z "$screen" ] || kill "$screen"; rm -rf "$work"' EXIT
root=$work/root
needed=$(dpkg-deb -f "$package" Depends | tr -d '\n' | sed 's/ *|[^,]*//g; s/[[:space:]]//g')
mmdebstrap --quiet --variant=apt --include="passwd,$needed" "$suite" "$root" http://deb.debian.org/debian
cp "$package" "$root/clalign.deb"

# Mounts are seen by these processes alone.
inside() {
    unshare --mount bash -c 'mount -t proc proc "$0/proc"; mount -t tmpfs tmpfs "$0/dev/shm" 2>/dev/null || true; exec chroot "$0" "$@"' \
        "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${variables[@]}" "$@"
}
variables=()
inside dpkg -i /clalign.deb  # refuses it if anything that it depends on is missing
inside useradd --create-home somebody

cat > "$root/try.sh" <<'INSIDE'
set -eu
examples=$(dirname "$(find /opt/clalign -name rrm_1.hits.tsv)")
mkdir -p "$HOME/an odd — folder" && cd "$HOME/an odd — folder"
cp "$examples/rrm_1.hmm" "my profile.hmm"
echo "== versions"; clalign --version -v
echo "== devices"; clalign devices
echo "== search without a word of what it takes"; clalign hmmsearch --dry-run "my profile.hmm" "$examples/swissprot_sample.fasta.gz"
echo "== search"
clalign hmmsearch -q --tsv hits.tsv --run "my run.clalign" -o text "my profile.hmm" "$examples/swissprot_sample.fasta.gz"
cut -f1 "$examples/rrm_1.hits.tsv" | tail -n +2 | sort > expected
head -1 hits.tsv | tr '\t' '\n' | grep -n '^target$' | cut -d: -f1 > column
cut -f"$(cat column)" hits.tsv | tail -n +2 | sort > found
cmp expected found && echo "the $(wc -l < found) hits of HMMER"
echo "== verify"; clalign verify -q --sample 3 "my run.clalign" || clalign verify --sample 3 "my run.clalign"
echo "== Smith-Waterman, alignment"
clalign sw -q -o pairs "$examples/three_proteins.fasta" "$examples/three_proteins.fasta"
clalign align -q -o aligned.fa "$examples/three_proteins.fasta" && grep -c '>' aligned.fa
echo "== completion"; bash -n /usr/share/bash-completion/completions/clalign && ls /usr/share/man/man1/clalign*.gz | wc -l
INSIDE
variables=(HOME=/home/somebody)
inside runuser -u somebody -- bash /try.sh

if command -v Xvfb > /dev/null; then
    echo "== window"
    number=$((90 + RANDOM % 900))
    Xvfb ":$number" -screen 0 1280x800x24 > /dev/null 2>&1 &
    screen=$!
    sleep 2
    variables=(HOME=/home/somebody DISPLAY=":$number" QT_QPA_PLATFORM=xcb)
    code=0
    inside runuser -u somebody -- timeout 60 clalign gui "/home/somebody/an odd — folder/my run.clalign" > "$work/window.log" 2>&1 &
    window=$!
    sleep 45
    command -v import > /dev/null && import -display ":$number" -window root "$picture" && echo "$picture"
    wait "$window" || code=$?
    [ "$code" -eq 124 ] || { cat "$work/window.log"; exit 1; }
    echo "the window was open until it was ended"
fi
