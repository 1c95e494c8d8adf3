#!/bin/sh
# Install Debian or Ubuntu packages, as root: debian.sh PACKAGE...
#
# The machine's own Open vSwitch service is left as it is. Where this installs Open vSwitch, its service is neither
# started nor left enabled: a run starts daemons of its own, and a service that nobody asked for would take the name
# ovs-system, load a kernel module and show bridges to the administrator's tools.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q ' installed$'; }
apt() { apt-get -q -o DPkg::Lock::Timeout=600 "$@"; }

exec 9</usr/sbin
flock 9 # one at a time: the first to end would take away the policy that the other relies on

ours=
installed openvswitch-switch || ours=yes
# Packages ask policy-rc.d before they start a service; 101 is "not allowed". An administrator's own one stays in charge.
# Ours allows everything again once this process is gone, should it be killed before it can clean up.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ] || grep -q "made by rocelab" "$policy"; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\n# made by rocelab while it installs packages\nif kill -0 %s; then exit 101; fi\n' $$ >"$policy"
    chmod 755 "$policy"
fi

apt update || echo "going on with the lists of packages that are there"
if ! apt install -y --no-install-recommends "$@"; then
    for package; do
        apt install -s --no-install-recommends "$package" >/dev/null 2>&1 || echo "cannot be had: $package"
    done
    exit 1
fi

if [ "$ours" ] && command -v systemctl >/dev/null && installed openvswitch-switch; then
    systemctl --quiet disable openvswitch-switch.service
fi
