# The testbed as an image: Debian, and what ./rocelab installs when it is first used.
#
#     docker build --tag rocelab .
#     docker run --rm --device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN \
#         --security-opt apparmor=unconfined rocelab run scenarios/01-ring-all-reduce.yaml
#
# Results: --volume "$PWD/runs:/opt/rocelab/runs". A package index of one's own: --build-arg PIP_INDEX_URL=...
FROM debian:bookworm-slim

COPY . /opt/rocelab
WORKDIR /opt/rocelab

ARG PIP_INDEX_URL
RUN ./rocelab show --help >/dev/null \
    && rm -rf /var/lib/apt/lists/* /root/.cache

ENTRYPOINT ["/opt/rocelab/rocelab"]
CMD ["--help"]
