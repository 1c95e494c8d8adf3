"""How fast rocelab is, and what bounds it: `python benchmarks/run.py` (README.md has the results and what they mean)."""
