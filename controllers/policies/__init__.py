"""The project's own policies, one file each: ``adaptive-ecn`` is ``adaptive_ecn.py`` (docs/policies.md)."""
