"""Makes `mono.bin`, the letters of pictures: DejaVu Sans Mono in cells of 10 x 20 pixels, lines and blocks drawn to the cell's edges.

    python make.py DejaVuSansMono.ttf

The file, compressed with zlib: the number of glyphs (two bytes, little-endian), their code points in order (four bytes each), and for each
glyph 100 bytes, two pixels a byte, the left one in the upper half, 0 empty to 15 covered.
"""
import struct
import sys
import unicodedata
import zlib

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, SIZE = 10, 20, 16.5
RANGES = [(0x20, 0x7E), (0xA0, 0x17F), (0x391, 0x3C9), (0x2010, 0x2027), (0x2030, 0x203A), (0x20AC, 0x20AC), (0x2080, 0x2089),
          (0x2070, 0x2079), (0x2190, 0x219F), (0x2212, 0x2212), (0x221E, 0x221E), (0x2248, 0x2248), (0x2260, 0x2265), (0x23CE, 0x23CE),
          (0x2500, 0x25FF), (0x2600, 0x2606), (0x26A0, 0x26A0), (0x2713, 0x2718), (0x2800, 0x28FF)]


def lines(name, image):
    """Box drawings by the words of their names; false for the others."""
    words = name.removeprefix("BOX DRAWINGS ").replace("VERTICAL", "UP AND DOWN").replace("HORIZONTAL", "LEFT AND RIGHT").split()
    if not name.startswith("BOX DRAWINGS") or "DIAGONAL" in words:
        return False
    draw, arms, weight, pending = ImageDraw.Draw(image), {}, "LIGHT", []
    for word in words:
        if word in ("UP", "DOWN", "LEFT", "RIGHT"):
            arms[word] = weight
            pending.append(word)
        elif word in ("LIGHT", "HEAVY", "SINGLE", "DOUBLE"):
            # `DOWN LIGHT` names the arm before its weight, `LIGHT DOWN` after it.
            if pending and words[words.index(word) - 1] in ("UP", "DOWN", "LEFT", "RIGHT") and words[0] not in ("LIGHT", "HEAVY", "DOUBLE"):
                arms.update({arm: word for arm in pending})
                pending = []
            weight = word
        elif word == "AND":
            pass
    dash = next((count for count, key in ((2, "DOUBLE DASH"), (3, "TRIPLE"), (4, "QUADRUPLE")) if key in name), 0)
    x, y = WIDTH // 2, HEIGHT // 2
    for arm, weight in arms.items():
        thick = 3 if weight == "HEAVY" else 1
        double = weight == "DOUBLE" and not dash
        for offset in ((-2, 1) if double else (0,)):
            low = -(thick // 2) + offset
            if arm in ("LEFT", "RIGHT"):
                box = (0 if arm == "LEFT" else x - thick // 2, y + low, x + thick // 2 if arm == "LEFT" else WIDTH - 1, y + low + thick - 1)
            else:
                box = (x + low, 0 if arm == "UP" else y - thick // 2, x + low + thick - 1, y + thick // 2 if arm == "UP" else HEIGHT - 1)
            draw.rectangle(box, fill=255)
    if dash:
        across = "LEFT" in arms
        for place in range(WIDTH if across else HEIGHT):
            if place * dash % (WIDTH if across else HEIGHT) >= (WIDTH if across else HEIGHT) * 0.6:
                draw.line(((place, 0, place, HEIGHT) if across else (0, place, WIDTH, place)), fill=0)
    return True


def blocks(code, image):
    draw = ImageDraw.Draw(image)
    fill = lambda left, top, right, bottom: draw.rectangle((round(left * WIDTH), round(top * HEIGHT), round(right * WIDTH) - 1, round(bottom * HEIGHT) - 1), fill=255)
    if code == 0x2580:
        fill(0, 0, 1, 0.5)
    elif 0x2581 <= code <= 0x2588:
        fill(0, 1 - (code - 0x2580) / 8, 1, 1)
    elif 0x2589 <= code <= 0x258F:
        fill(0, 0, max((0x2590 - code) / 8, 0.1), 1)
    elif code == 0x2590:
        fill(0.5, 0, 1, 1)
    elif 0x2591 <= code <= 0x2593:
        image.paste(64 * (code - 0x2590), (0, 0, WIDTH, HEIGHT))
    elif code == 0x2594:
        fill(0, 0, 1, 0.125)
    elif code == 0x2595:
        fill(0.9, 0, 1, 1)
    elif 0x2596 <= code <= 0x259F:
        parts = {0x2596: "c", 0x2597: "d", 0x2598: "a", 0x2599: "acd", 0x259A: "ad", 0x259B: "abc", 0x259C: "abd", 0x259D: "b", 0x259E: "bc", 0x259F: "bcd"}[code]
        for part, (left, top) in zip("abcd", ((0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5))):
            if part in parts:
                fill(left, top, left + 0.5, top + 0.5)
    elif 0x2800 <= code <= 0x28FF:
        for bit, (column, row) in enumerate(((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))):
            if code - 0x2800 >> bit & 1:
                draw.rectangle((2 + 5 * column, 2 + 5 * row, 3 + 5 * column, 3 + 5 * row), fill=255)
    else:
        return False
    return True


def glyph(code, font):
    image = Image.new("L", (WIDTH, HEIGHT))
    if not blocks(code, image) and not lines(unicodedata.name(chr(code), ""), image):
        ImageDraw.Draw(image).text((0, 15), chr(code), font=font, fill=255, anchor="ls")
    values = [(value + 8) // 17 for value in image.getdata()]
    return bytes(left << 4 | right for left, right in zip(values[::2], values[1::2]))


font = ImageFont.truetype(sys.argv[1], SIZE)
codes = [code for low, high in RANGES for code in range(low, high + 1) if unicodedata.name(chr(code), "")]
raw = struct.pack("<H", len(codes)) + b"".join(struct.pack("<I", code) for code in sorted(codes)) + b"".join(glyph(code, font) for code in sorted(codes))
open("mono.bin", "wb").write(zlib.compress(raw, 9))
print(len(codes), "glyphs,", len(raw), "bytes,", len(zlib.compress(raw, 9)), "compressed")
