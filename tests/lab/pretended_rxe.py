"""Runs ``rocelab ARGUMENTS`` in any network namespace, as if the kernel had Soft-RoCE.

Where the interfaces of Soft-RoCE hosts go, and what crosses the fabric, does not depend on rxe.
"""

import sys

from testbed.cli import main as command
from testbed.outside import soft_roce

if __name__ == "__main__":
    vars(soft_roce).update(_has_module=lambda _name: True, _in_initial_namespace=lambda: True)
    command.main(sys.argv[1:])
