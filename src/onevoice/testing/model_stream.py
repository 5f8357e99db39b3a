"""Anthropic's stream of server-sent events, from one reply of the loopback model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from onevoice.testing.model_protocol import Json, Reply


def stream_reply(reply: Reply, model: str) -> bytes:
    """A whole answer, its texts and arguments in two pieces each.

    >>> reply = Reply(text="Hello!", calls=(), refused=False, input_tokens=1, output_tokens=1)
    >>> stream_reply(reply, "some-model").count(b"text_delta")
    2
    """
    blocks = [
        event
        for index, (block, deltas) in enumerate(_blocks(reply))
        for event in _block(index, block, deltas)
    ]
    reason = "refusal" if reply.refused else "tool_use" if reply.calls else "end_turn"
    end: list[Json] = [
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": reply.output_tokens},
        },
        {"type": "message_stop"},
    ]
    return _events([_start(model, reply.input_tokens), {"type": "ping"}, *blocks, *end])


def stream_fault(content: Json, model: str) -> bytes:
    """An answer that breaks off with an error after its first words."""
    begun = _block(0, {"type": "text", "text": ""}, [{"type": "text_delta", "text": "Good"}])[:-1]
    return _events([_start(model, 1), *begun, content])


def _blocks(reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    if reply.text is not None:
        half = len(reply.text) // 2
        pieces = (reply.text[:half], reply.text[half:])
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    for call_id, name, args in reply.calls:
        text = json.dumps(args)
        pieces = (text[:3], text[3:])
        yield (
            {"type": "tool_use", "id": call_id, "name": name, "input": {}},
            [{"type": "input_json_delta", "partial_json": piece} for piece in pieces],
        )


def _block(index: int, block: Json, deltas: list[Json]) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _start(model: str, input_tokens: int) -> Json:
    return {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": input_tokens, "output_tokens": 0},
        },
    }


def _events(events: Iterable[Json]) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
