"""A module with a bug."""

from ryu.base import app_manager

BUCKETS = 256 // len([])


class RaisesAtImport(app_manager.RyuApp):
    pass
