"""Data-parallel training over TCP: every host has its own data, and gradients are averaged by a ring All-Reduce.

    train.py RANK HOST HOST ...

The hosts are the ranks, in this order. Each fits the same linear model to its own noisy samples: with the average of
all gradients in every step they stay equal, and find the weights that made the data. Printed at the end: the time of an
All-Reduce, its algbw and busbw as nccl-tests count them, and a checksum that must be the same on all ranks.
"""

import socket
import sys
import threading
import time
import zlib

import numpy as np

PORT = 29500
WEIGHTS = 60_000
SAMPLES = 8
STEPS = 4
PATIENCE_S = 60


def connect(rank: int, hosts: list[str]) -> tuple[socket.socket, socket.socket]:
    """Return the connections from the left neighbour and to the right one."""
    listener = socket.create_server(("0.0.0.0", PORT))
    deadline = time.monotonic() + PATIENCE_S
    right = None
    while right is None:
        try:
            right = socket.create_connection((hosts[(rank + 1) % len(hosts)], PORT), timeout=5)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    left, _ = listener.accept()
    for connection in (left, right):
        connection.settimeout(PATIENCE_S)
    return left, right


def receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the left neighbour has hung up")
        data += part
    return bytes(data)


def all_reduce(data: np.ndarray, rank: int, ranks: int, left: socket.socket, right: socket.socket) -> None:
    """Add up `data` of all ranks, in place: reduce-scatter, then all-gather, once around the ring each."""
    parts = np.array_split(data, ranks)  # views
    for step in range(2 * (ranks - 1)):
        sent, got = parts[(rank - step) % ranks], parts[(rank - step - 1) % ranks]
        sender = threading.Thread(target=right.sendall, args=(sent.tobytes(),))
        sender.start()
        arrived = np.frombuffer(receive(left, got.nbytes), dtype=data.dtype)
        sender.join()
        got[:] = got + arrived if step < ranks - 1 else arrived


def main() -> None:
    rank, hosts = int(sys.argv[1]), sys.argv[2:]
    ranks = len(hosts)
    left, right = connect(rank, hosts)
    true = np.random.default_rng(0).normal(size=WEIGHTS).astype(np.float32)
    random = np.random.default_rng(rank + 1)
    weights = np.zeros(WEIGHTS, dtype=np.float32)
    took_s = []
    for step in range(STEPS):
        samples = true + random.normal(scale=0.1, size=(SAMPLES, WEIGHTS)).astype(np.float32)
        gradient = (weights - samples).mean(axis=0)
        began = time.monotonic()
        all_reduce(gradient, rank, ranks, left, right)
        took_s.append(time.monotonic() - began)
        weights -= 0.7 * gradient / ranks
        if rank == 0:
            error = float(np.abs(weights - true).mean())
            print(
                f"step {step}: error {error:.4f}, All-Reduce of {gradient.nbytes} B in {took_s[-1]:.3f} s", flush=True
            )
    mean_s = sum(took_s) / STEPS
    algbw = weights.nbytes * 8 / mean_s / 1e6
    print(
        f"rank {rank}: algbw {algbw:.2f} Mb/s, busbw {algbw * 2 * (ranks - 1) / ranks:.2f} Mb/s, "
        f"weights {zlib.crc32(weights.tobytes()):08x}",
        flush=True,
    )


if __name__ == "__main__":
    main()
