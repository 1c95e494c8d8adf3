"""Ends the process when it is loaded."""

import sys

print("nothing to do")
sys.exit(3)
