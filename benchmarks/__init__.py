"""How fast rocelab is, and what bounds it: `python benchmarks/run.py`; README.md says what its figures mean."""
