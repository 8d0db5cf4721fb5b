"""Single edits of a JSON document, for tests that must notice them."""

import copy
import json

from dxprivacy.verify import reading


def places(data, path=()):
    """The path of everything in a document."""
    yield path
    members = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in members:
        yield from places(value, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def put(data, path, value):
    """A copy with one value replaced."""
    out = copy.deepcopy(data)
    at(out, path[:-1])[path[-1]] = value
    return out


def changed(rng, value):
    """Another value of the same kind, mostly."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 1000])
    if isinstance(value, float):
        return value * rng.choice([0.5, 2, 1 + 1e-6]) if value else 1.0
    if isinstance(value, str):
        spot = rng.randrange(len(value) + 1)
        return value[:spot] + rng.choice("0123456789abcdefxyz/ .") + value[spot + rng.randint(0, 1) :]
    return rng.choice([0, "x", True, 1.5]) if value is None else rng.choice([None, 0, "x"])


def edit(rng, data):
    """One random edit: change, delete, add, or swap; its path and the edited copy."""
    path = rng.choice(list(places(data))[1:])
    parent, value = at(data, path[:-1]), at(data, path)
    out = copy.deepcopy(data)
    owner = at(out, path[:-1])
    action = rng.choice(["change", "change", "delete", "add", "swap"])
    if action == "delete":
        del owner[path[-1]]
    elif action == "add" and isinstance(value, dict):
        at(out, path)["extra"] = 1
    elif action == "add" and isinstance(value, list):
        at(out, path).append(copy.deepcopy(value[-1]) if value else 0)
    elif action == "swap" and isinstance(parent, list) and len(parent) > 1:
        other = rng.randrange(len(parent))
        owner[path[-1]], owner[other] = owner[other], owner[path[-1]]
    else:
        owner[path[-1]] = changed(rng, value)
    return path, out


def edit_text(rng, text):
    """One character of a text replaced, added or left out."""
    spot = rng.randrange(len(text))
    return text[:spot] + rng.choice(["", chr(rng.randint(32, 126)), text[spot] * 2]) + text[spot + 1 :]


def same(a, b) -> bool:
    """Whether two documents have the same content, up to what the seal leaves out."""

    def content(data):
        return {k: v for k, v in data.items() if k != "repeated"} if isinstance(data, dict) else data

    return json.dumps(content(a), sort_keys=True) == json.dumps(content(b), sort_keys=True) or (
        reading.canonical(content(a)) == reading.canonical(content(b))
    )


def resealed(data):
    """As somebody who knows how seals are made would leave it."""
    return {**data, "seal": reading.seal_of(data)} if isinstance(data, dict) and "seal" in data else data
