"""What happens to pictures in a request: none for a text-only model, only the newest otherwise."""

from __future__ import annotations

from typing import Any

REPLACED = "[a picture was here; this model sees text only, or it was an old one]"


def limit_images(body: dict[str, Any], *, at_most: int) -> tuple[dict[str, Any], int]:
    """Return the request with at most so many pictures, the newest, and how many were replaced."""
    total = _count(body)
    too_many = max(0, total - at_most)
    return (_replace(body, [too_many]) if too_many else body), too_many


def is_image(part: Any) -> bool:
    """Return whether a content part is a picture, in any of the four wires."""
    if not isinstance(part, dict):
        return False
    kinds = ("image", "image_url", "input_image")
    return part.get("type") in kinds or "inlineData" in part or "inline_data" in part


def _count(value: Any) -> int:
    if is_image(value):
        return 1
    if isinstance(value, dict):
        return sum(_count(item) for item in value.values())
    return sum(_count(item) for item in value) if isinstance(value, list) else 0


def _replace(value: Any, left: list[int]) -> Any:
    if is_image(value):
        if not left[0]:
            return value
        left[0] -= 1
        if "type" not in value:
            return {"text": REPLACED}
        return {"type": _text_kind(value["type"]), "text": REPLACED}
    if isinstance(value, dict):
        return {key: _replace(item, left) for key, item in value.items()}
    return [_replace(item, left) for item in value] if isinstance(value, list) else value


def _text_kind(kind: str) -> str:
    return "input_text" if kind == "input_image" else "text"
