#!/bin/bash
# The image for real: built from the Dockerfile, and a scenario run in it with the least that the README names.
#
#     tests/docker/image.sh [BASE]
#
# Needs a Docker engine (DOCKER_HOST) and, for the build, the network. BASE is a tarball of a Debian root file system to
# use as debian:bookworm-slim where no registry can be reached. Takes two to four minutes, so it is no part of
# `./rocelab test`.
set -euo pipefail

tree=$(readlink -f -- "$(dirname -- "$0")/../..")
tag=rocelab-test:$$
trap 'docker image rm --force "$tag" >/dev/null 2>&1 || true' EXIT

if [ $# -gt 0 ]; then
    docker import --change 'CMD ["/bin/bash"]' "$1" debian:bookworm-slim
fi
git -C "$tree" archive HEAD | DOCKER_BUILDKIT=0 docker build --network host --tag "$tag" -

least=(--rm --network none --device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN --security-opt apparmor=unconfined)
echo "--- a scenario, as the README has it"
docker run "${least[@]}" "$tag" run scenarios/01-ring-all-reduce.yaml
echo "--- results come out"
runs=$(mktemp -d)
docker run "${least[@]}" --volume "$runs:/opt/rocelab/runs" "$tag" run scenarios/02-one-lost-packet.yaml --quiet
test -s "$runs/02-one-lost-packet-1/summary.json"
rm -rf "$runs"
echo "--- without a capability it says what is missing"
if docker run --rm --network none --device /dev/net/tun --cap-add SYS_ADMIN "$tag" run scenarios/01-ring-all-reduce.yaml; then
    exit 1
fi
echo "all right"
