"""What the protocols have in common on the wire."""

import json
import uuid


def event(data, name=None):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def halves(text):
    middle = len(text) // 2
    return [text[:middle], text[middle:]]


def new_id(prefix):
    return prefix + uuid.uuid4().hex[:24]
