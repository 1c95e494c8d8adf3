#!/bin/bash
# First use on a machine that has nothing yet, for real: as root, then as an ordinary user without sudo.
#
#     sudo tests/bootstrap/fresh_machine.sh bookworm [MIRROR]        (or trixie, noble, ...)
#
# Installs the release's smallest system with debootstrap into a scratch folder, enters it as its own root file system
# (pivot_root: inside a chroot the kernel grants no user namespaces), and runs the bootstrap and the doctor. Needs root,
# debootstrap and the network, and takes two minutes; so it is no part of `./rocelab test`. PIP_* settings are handed on.
set -euo pipefail

release=$1
mirror=${2:-}
tree=$(readlink -f -- "$(dirname -- "$0")/../..")
root=$(mktemp -d)
chmod 755 "$root"
trap 'rm -rf --one-file-system "$root"' EXIT

debootstrap --variant=minbase "$release" "$root" ${mirror:+"$mirror"} >"$root.log" || { tail -n 5 "$root.log"; exit 1; }
rm -f "$root.log"
cp /etc/resolv.conf "$root/etc/"
settings=(PATH=/usr/local/bin:/usr/sbin:/usr/bin LC_ALL=C.UTF-8)
for name in "${!PIP_@}"; do settings+=("$name=${!name}"); done
if [ -n "${PIP_CERT:-}" ]; then
    cp -L "$PIP_CERT" "$root/etc/pip-cert.pem"
    settings+=(PIP_CERT=/etc/pip-cert.pem)
fi

cat >"$root/enter" <<'ENTER'
set -e
mount --bind "$1" "$1"
cd "$1"
mkdir -p old
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs dev/net # a /dev/net/tun for everybody, as a booted system has it
mknod -m 666 dev/net/tun c 10 200
pivot_root . old
umount -l /old
exec bash /check
ENTER

cat >"$root/check" <<'CHECK'
set -eo pipefail
as_user() { setpriv --reuid ann --regid ann --init-groups env HOME=/home/ann "$@"; }
echo "--- root: first use installs everything"
cd /
"/srv/a tree/rocelab" show --help >/dev/null
"/srv/a tree/rocelab" doctor
echo "--- its service is neither running nor left to start, and the ban on starting services is gone"
! ls /usr/sbin/policy-rc.d /run/openvswitch/*.pid 2>/dev/null
! command -v systemctl >/dev/null || ! systemctl is-enabled openvswitch-switch
echo "--- an ordinary user in root's tree, by a symbolic link: just starts"
useradd -m ann
ln -s "/srv/a tree/rocelab" /usr/local/bin/rocelab
as_user rocelab doctor 2>&1 | tail -n 1
echo "--- an ordinary user in a tree of their own, without sudo: makes its environment"
cp -r "/srv/a tree" /home/ann/tree
rm -rf /home/ann/tree/.venv
chown -R ann: /home/ann
as_user /home/ann/tree/rocelab doctor
echo "--- $(. /etc/os-release; echo "$PRETTY_NAME"): all right"
CHECK

mkdir -p "$root/srv/a tree"
tar -C "$tree" -c --exclude=.git --exclude=.venv --exclude=runs . | tar -C "$root/srv/a tree" -x
chown -R 0:0 "$root/srv"
env -i "${settings[@]}" unshare --mount --pid --fork --kill-child bash "$root/enter" "$root"
