"""The context ``fabric``: how an application gets the plan of the fabric that it controls.

An application asks for it in Ryu's own way, which is why it needs no other way to be started:

    class MyApp(app_manager.RyuApp):
        _CONTEXTS = {"fabric": Fabric}

        def __init__(self, *args, fabric, **kwargs):
            super().__init__(*args, **kwargs)
            self.plan = fabric.plan
"""

import json
from pathlib import Path

from testbed.fabric.plan import FabricPlan


class Fabric:
    """Holds the one plan of this process. The launcher loads it before it makes any application."""

    _loaded: FabricPlan | None = None

    @classmethod
    def load(cls, path: Path) -> FabricPlan:
        """Read the plan from the JSON file at `path`, for every application to come."""
        cls._loaded = FabricPlan.from_json(json.loads(path.read_text()))
        return cls._loaded

    def __init__(self) -> None:
        if self._loaded is None:
            raise RuntimeError("no plan of a fabric; start applications with: python -m controllers.launcher")
        self.plan = self._loaded
