"""Holds a mount namespace with an empty /run and /tmp, in which only the test's own runs leave files.

    python private_place.py PLACE ...

Each PLACE (the project, its Python) stays where it is. Says ``made`` when all is made; ends with its standard input.
"""

import sys
from pathlib import Path

import namespaces


def main() -> None:
    places, _ = namespaces.arguments()
    namespaces.enter()
    namespaces.cover(Path("/tmp"), "1777", places)
    namespaces.cover(Path("/run"), "755", places)
    print("made", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
