"""Every message about what is too large, too small or too many to send; `wording` has all others."""

from testbed.scenario.limits import ELEMENT_BYTES
from testbed.scenario.quantities import SIZE


def not_whole_elements(size_bytes: int) -> str:
    whole_bytes = size_bytes // ELEMENT_BYTES * ELEMENT_BYTES or ELEMENT_BYTES
    return (
        f"expected a size of whole float32 elements, a multiple of 4B, found {size_bytes}B; for example {whole_bytes}B"
    )


def parts_too_long(size_bytes: int, ranks: int, most_bytes: int) -> str:
    """`size_bytes` divided by `ranks` is more than any chunk could send."""
    return f"expected at most {SIZE.text(ranks * most_bytes)} with {ranks} ranks, found {SIZE.text(size_bytes)}"


def part_needs_chunk(part_bytes: int, longest_bytes: int, most_pieces: int) -> str:
    return (
        f"expected a 'chunk' beside this size, as a rank's part of {SIZE.text(part_bytes)} is longer than a message, "
        f"{SIZE.text(longest_bytes)}, found none; for example 'chunk: {_chunk_example(part_bytes, most_pieces)}'"
    )


def chunk_too_long(piece_bytes: int, part_bytes: int, longest_bytes: int, most_pieces: int) -> str:
    return (
        f"expected at most {SIZE.text(longest_bytes)}, the longest message, found {SIZE.text(piece_bytes)}; "
        f"for example {_chunk_example(part_bytes, most_pieces)}"
    )


def too_many_pieces(piece_bytes: int, part_bytes: int, most_pieces: int) -> str:
    return (
        f"expected at most {most_pieces} pieces of a rank's part of {SIZE.text(part_bytes)}, "
        f"found {-(-part_bytes // piece_bytes)}; for example {_chunk_example(part_bytes, most_pieces)}"
    )


def _chunk_example(part_bytes: int, most_pieces: int) -> str:
    """A chunk that will do: 64KiB, or the first power of two of which a part has no more than `most_pieces`."""
    chunk_bytes = 64 * 1024
    while chunk_bytes * most_pieces < part_bytes:
        chunk_bytes *= 2
    return SIZE.text(chunk_bytes)


def too_many_messages(chunk_bytes: int, flow_bytes: int, most_messages: int) -> str:
    return (
        f"expected at most {most_messages} messages of a flow of {SIZE.text(flow_bytes)}, "
        f"found {-(-flow_bytes // chunk_bytes)}; for example 'chunk: {_chunk_example(flow_bytes, most_messages)}'"
    )


def trace_too_large(size_bytes: int, most_bytes: int) -> str:
    return (
        f"expected messages and collectives of which a rank sends at most {SIZE.text(most_bytes)} in one go, "
        f"found {SIZE.text(size_bytes)}; for example 'scale: {{bytes: 1}}'"
    )


def flow_too_long(size_bytes: int, most_messages: int, message_bytes: int) -> str:
    most_bytes = most_messages * message_bytes
    return f"expected at most {SIZE.text(most_bytes)} in a flow, found {SIZE.text(size_bytes)}"
