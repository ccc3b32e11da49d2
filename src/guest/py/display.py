"""What a step shows besides text: figures, images, and objects that know how they look.

Runs as: the guest, in untrusted hands; the methods are the objects' own
Trusts: nothing
Never: imports matplotlib or PIL; sends more than PER_STEP displays a step
"""
import binascii
import sys

from . import channel
from ._values import safe_repr, scrub

PER_STEP = 64
BYTES_MAX = 8 << 20     # of one display, before base64
_METHODS = (
    ("image/png", "_repr_png_"), ("image/jpeg", "_repr_jpeg_"), ("image/svg+xml", "_repr_svg_"),
    ("text/html", "_repr_html_"),
)
_sent = 0


def reset():
    global _sent
    _sent = 0


def _figure_png(figure):
    import io
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    return out.getvalue()


def _is_figure(value):
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return isinstance(figure, type) and issubclass(type(value), figure)


def bundle(value):
    """{mime: bytes} of what the value offers; methods that fail or give nothing do not count."""
    kind, found = type(value), {}
    if kind in (int, float, str, bool, list, dict, tuple, type(None)) or issubclass(kind, type):
        return found
    if _is_figure(value):
        return {"image/png": _figure_png(value)}
    for mime, name in _METHODS:
        try:
            data = getattr(value, name)() if hasattr(kind, name) else None
        except Exception:
            continue
        if type(data) is tuple and data:
            data = data[0]              # with metadata
        if type(data) is str:
            data = data.encode("utf-8", "backslashreplace")
        if type(data) is bytes and data:
            found[mime] = data
    return found


def _send(found):
    global _sent
    if _sent >= PER_STEP:
        print("display: more than %d in one step, the rest is left out" % PER_STEP, file=sys.stderr)
        return
    kept = {mime: data for mime, data in found.items() if len(data) <= BYTES_MAX}
    if len(kept) < len(found):
        print("display: more than %d bytes, left out" % BYTES_MAX, file=sys.stderr)
    if kept:
        data = {mime: binascii.b2a_base64(raw, newline=False).decode() for mime, raw in kept.items()}
        try:
            _sent += channel.send_in_step({"type": "display", "data": data})
        except ValueError:
            print("display: larger than a message may be, left out", file=sys.stderr)


def show(value):
    """True if the value had anything to show."""
    found = bundle(value)
    if found:
        _send(found)
    return bool(found)


def display(*values):
    """Show each value: as an image or as HTML where it can be, else by its repr()."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for value in values:
        if not show(value):
            print(scrub(safe_repr(value)))


def show_figures():
    """Every figure that pyplot holds, which is then closed."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if figure.get_axes() or getattr(figure, "texts", None) or getattr(figure, "images", None):
            _send({"image/png": _figure_png(figure)})
    pyplot.close("all")


display.__module__ = "builtins"
