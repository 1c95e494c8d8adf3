#!/bin/bash
# Makes a bare Debian 12 box for libvirt, of what Vagrant asks of a box and no more: ssh, sudo, rsync, a user `vagrant`.
#
#     sudo tests/vagrant/make_box.sh OUT
#
# For tests/vagrant/up.sh, which says what it needs and which settings hold.
set -euo pipefail

out=$1
scratch=$(mktemp -d --tmpdir rocelab-box-XXXXXX)
root=$scratch/root
disk=$scratch/disk.raw
mounted=
loop=
clean() {
    [ -z "$mounted" ] || umount "$mounted"
    [ -z "$loop" ] || losetup --detach "$loop"
    rm -rf --one-file-system "$scratch"
}
trap 'exit 130' INT TERM
trap clean EXIT

packages=linux-image-amd64,systemd-sysv,udev,dbus,openssh-server,sudo,ifupdown,isc-dhcp-client,iproute2,rsync,ca-certificates
unshare --mount debootstrap --variant=minbase --include="$packages" bookworm "$root" ${MIRROR:+"$MIRROR"} >"$scratch/log" ||
    { tail -n 5 "$scratch/log"; exit 1; } # in a mount namespace, so that no /proc of it can stay behind
rm -rf "$root"/var/cache/apt/archives/*.deb

# --- who may enter, and how it finds packages -------------------------------------------------------------------------

chroot "$root" useradd --create-home --shell /bin/bash vagrant
echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/vagrant"
keys=$root/home/vagrant/.ssh/authorized_keys
install -d -m 700 "${keys%/*}"
vagrant box list >/dev/null # lays down the key that Vagrant first enters with
ssh-keygen -y -f "${VAGRANT_HOME:-$HOME/.vagrant.d}/insecure_private_key" >"$keys"
chroot "$root" chown -R vagrant: /home/vagrant/.ssh
echo 'UseDNS no' >>"$root/etc/ssh/sshd_config"
for setting in "${!PIP_@}"; do echo "$setting=${!setting}"; done >"$root/etc/environment"
if [ -n "${PIP_CERT:-}" ]; then
    cp -L "$PIP_CERT" "$root/etc/pip-cert.pem"
    echo PIP_CERT=/etc/pip-cert.pem >>"$root/etc/environment"
fi

# --- how it starts ----------------------------------------------------------------------------------------------------

echo debian12 >"$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 debian12\n' >"$root/etc/hosts"
printf 'auto lo\niface lo inet loopback\nallow-hotplug eth0\niface eth0 inet dhcp\n' >"$root/etc/network/interfaces"
echo 'LABEL=root / ext4 defaults 0 1' >"$root/etc/fstab"
rm -f "$root/etc/resolv.conf"
mkdir -p "$root/boot/extlinux"
cat >"$root/boot/extlinux/extlinux.conf" <<'BOOT'
DEFAULT linux
LABEL linux
  LINUX /vmlinuz
  INITRD /initrd.img
  APPEND root=LABEL=root rw net.ifnames=0 console=ttyS0 quiet
BOOT

# --- its disk: a partition made by its offset, since not every kernel shows a loop device's partitions ----------------

truncate --size 10G "$disk"
parted --script "$disk" mklabel msdos mkpart primary ext4 1MiB 100% set 1 boot on
dd if=/usr/lib/EXTLINUX/mbr.bin of="$disk" conv=notrunc bs=440 count=1 status=none
loop=$(losetup --find --show --offset 1MiB "$disk")
mkfs.ext4 -q -L root -O ^64bit,^metadata_csum -d "$root" "$loop"
mkdir "$scratch/mounted"
mount "$loop" "$scratch/mounted"
mounted=$scratch/mounted
extlinux --install "$mounted/boot/extlinux" 2>/dev/null
umount "$mounted"
mounted=
losetup --detach "$loop"
loop=

# --- the box ----------------------------------------------------------------------------------------------------------

qemu-img convert -O qcow2 "$disk" "$scratch/box.img"
echo '{"provider": "libvirt", "format": "qcow2", "virtual_size": 10}' >"$scratch/metadata.json"
driver=${DRIVER:-kvm}
[ "$driver" = kvm ] && cpu=host-model || cpu=maximum
cat >"$scratch/Vagrantfile" <<BOX
Vagrant.configure("2") do |config|
  config.vm.boot_timeout = 1800
  config.vm.provider "libvirt" do |machine|
    machine.driver = "$driver"
    machine.cpu_mode = "$cpu"
    machine.graphics_type = "none"
  end
end
BOX
tar -C "$scratch" -cf "$out" metadata.json Vagrantfile box.img
