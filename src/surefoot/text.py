"""Text for people: numbers, and text from files, made safe for a terminal or the comment of a generated file.

A name in a robot.yaml, a log or a network may hold anything. Printed raw, an escape sequence sets the window's title or
hides a line; written raw, a line break ends a comment.
"""

import math
import unicodedata

# Unicode has pictures of the ASCII control characters, one cell wide: ESC is shown as ␛.
_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}


def for_terminal(text: str) -> str:
    """Text whose control characters are shown as pictures instead of obeyed; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _picture(c) for c in text)


def one_line(text: object) -> str:
    """Text on one line, whatever it holds: for an error sentence or a log line."""
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(c if c.isprintable() else " " if c in "\n\t\r" else _picture(c) for c in plain)


def flat(reason: BaseException, most: int = 300) -> str:
    """What a library complains about, as part of a sentence."""
    return one_line(" ".join(str(reason).split()))[:most].rstrip(". ") or type(reason).__name__


def for_comment(text: object) -> str:
    """Text for the comment or docstring of a generated file.

    Printable ASCII and ordinary letters stay. Everything else, and the backslash, is written as an escape, so that no
    encoding declaration, no line break and no escape sequence of the target language can come out of it.
    """
    return "".join(c if _plain(c) else c.encode("unicode_escape").decode() for c in str(text))


def number(value: float, digits: int = 3) -> str:
    """A number for reading, with `digits` significant digits; a dash where there is none."""
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value and (abs(value) >= 10 ** max(digits, 5) or abs(value) < 1e-3):
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"
    else:
        text = f"{value:.{max(0, digits - 1 - (math.floor(math.log10(abs(value))) if value else 0))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text.replace("-", "−")


def _plain(c: str) -> bool:
    return c != "\\" and (" " <= c <= "~" or (c.isprintable() and unicodedata.category(c)[0] in "LNPS"))


def _picture(c: str) -> str:
    """One visible character; � for what has no picture, such as marks that turn the direction of writing."""
    if c.isspace() and ord(c) > 0x7F:
        return " "
    if 0xD800 <= ord(c) <= 0xDFFF:  # a byte of a file name that is not UTF-8; the stream writes it as an escape
        return c
    return chr(_PICTURES.get(ord(c), 0xFFFD))
