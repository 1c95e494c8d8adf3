#!/bin/bash
# The Vagrantfile for real: its machine comes up, runs a scenario, and measures what this host measures, to the picosecond.
#
#     sudo tests/vagrant/up.sh [BOX]
#
# Needs root, vagrant with vagrant-libvirt, rsync, the network, a testbed that runs here, and a running libvirtd with a
# storage pool `default`. BOX is a box for libvirt; without it one is made of Debian 12, which needs debootstrap, parted,
# extlinux, qemu-img, a loop device and 4 GB in TMPDIR. PIP_* settings are handed on to that box, and
#   MIRROR=...    is where its packages come from (default: debootstrap's)
#   DRIVER=qemu   has it emulated in software, where there is no KVM
#
# The machine, its disks and the box are gone afterwards, also after a failure or Ctrl-C; what libvirtd sets for its
# networks (iptables chains, ip_forward) is left to it. Not part of `./rocelab test`: emulated in software on two cores
# busy with much else it took 62 minutes: 47 to come up, of them 37 to install, 8 for the run; a box before that, 7.
set -euo pipefail

tree=$(readlink -f -- "$(dirname -- "$0")/../..")
here=$(readlink -f -- "$(dirname -- "$0")")
box=${1:+$(readlink -f -- "$1")}
scenario=scenarios/01-ring-all-reduce.yaml
run=01-ring-all-reduce-1 # its folder below runs
name=debian/bookworm64 # as the Vagrantfile has it
version=0.0.$$         # so that the pool's image of it is nobody else's
scratch=$(mktemp -d --tmpdir rocelab-up-XXXXXX)
project=$scratch/${scratch##*/} # its name begins the domain's
export VAGRANT_HOME=$scratch/home VAGRANT_DEFAULT_PROVIDER=libvirt VAGRANT_CHECKPOINT_DISABLE=1

clean() {
    trap '' INT TERM
    [ ! -d "$project/.vagrant" ] || (cd "$project" && vagrant destroy --force) || echo "left behind: virsh list --all"
    virsh --quiet vol-list default | awk -v version="$version" 'index($1, "_vagrant_box_image_" version) {print $1}' |
        xargs --no-run-if-empty --replace virsh vol-delete {} default
    rm -rf --one-file-system "$scratch"
}
trap 'exit 130' INT TERM
trap clean EXIT

quiet() { "$@" 2>&1 | (trap '' INT; sed --unbuffered 's/.*\x1b\[K//'); } # without progress, a line of which is a screen long
say() { printf -- '--- %4d s: %s\n' "$SECONDS" "$*"; }

virsh --quiet pool-info default >/dev/null
mkdir -p "$project"
tar -C "$tree" -c --exclude=.git --exclude=.venv --exclude=.vagrant --exclude=runs . | tar -C "$project" -x
cd "$project"
vagrant validate

if [ -z "$box" ]; then
    say "making a box"
    box=$scratch/box
    "$here/make_box.sh" "$box"
fi
printf '{"name": "%s", "versions": [{"version": "%s", "providers": [{"name": "libvirt", "url": "file://%s"}]}]}\n' \
    "$name" "$version" "$box" >"$scratch/catalog.json"
quiet vagrant box add "$scratch/catalog.json"

say "up"
quiet vagrant up
say "is up; a run in it, as the README has it"
vagrant ssh --no-tty -c "rocelab run $scenario"
say "doctor"
vagrant ssh --no-tty -c "rocelab doctor"
say "the same here, to compare"
vagrant ssh --no-tty -c 'tar -C /vagrant -c runs' | tar -x
"$tree/rocelab" run "$scenario" --quiet --out "$scratch/outside"
python3 - "runs/$run/summary.json" "$scratch/outside/summary.json" <<'COMPARE'
import json, sys

inside, outside = (json.load(open(file)) for file in sys.argv[1:])
for part in ("wall", "versions"):
    print(f"{part}: {inside.pop(part)} in the machine\n{part}: {outside.pop(part)} here")
differing = [part for part in inside.keys() | outside.keys() if inside.get(part) != outside.get(part)]
if differing:
    sys.exit(f"differs: {', '.join(sorted(differing))}")
print(f"equal in all else, counters of {len(inside['ports'])} ports among it: {inside['duration_ps']} ps")
COMPARE
say "a later copy of the project leaves runs and environment alone"
vagrant rsync
vagrant ssh --no-tty -c "test -s /vagrant/runs/$run/summary.json && rocelab check $scenario"
vagrant halt
vagrant destroy --force
say "all right"
