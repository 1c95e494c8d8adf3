"""``python -m testbed`` is ``rocelab``."""

from testbed.cli.main import main

if __name__ == "__main__":
    main()
