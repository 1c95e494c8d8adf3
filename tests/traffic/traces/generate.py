"""Makes the Python module of the Chakra messages (and its types) from their definition: run this after a change of it.

python -m tests.traffic.traces.generate
"""

from pathlib import Path

PROTO = Path(__file__).parents[3] / "traffic/traces/chakra/et_def.proto"


def generate(directory: Path) -> None:
    """Write ``et_def_pb2.py`` and ``et_def_pb2.pyi`` into `directory`."""
    from grpc_tools import protoc

    where = [f"--proto_path={PROTO.parent}", f"--python_out={directory}", f"--pyi_out={directory}"]
    status = protoc.main(["protoc", *where, PROTO.name])
    assert status == 0, f"protoc ended with {status}"


if __name__ == "__main__":
    generate(PROTO.parent)
