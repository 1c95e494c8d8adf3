"""The project's own Ryu applications, one file each: ``l3-ecmp`` is ``l3_ecmp.py``."""
