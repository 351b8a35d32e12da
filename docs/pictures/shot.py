"""Runs a command at a pseudo terminal and draws what stands on the screen as SVG.

    shot.py COLUMNS ROWS OUT.svg [--until TEXT] [--title TEXT] -- COMMAND ...

With --until the picture is taken as soon as the text stands on the screen, and the command is ended;
otherwise when the command has ended. A screen that is not full is drawn as high as it is full; of one
that has scrolled, the last ROWS lines are drawn.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from html import escape
from unicodedata import east_asian_width

import pyte

COLUMN, ROW = 8.4, 19
INK = {
    "default": "#d6dae0", "black": "#5c626b", "red": "#ff8a80", "green": "#7bd88f", "brown": "#f0b35a",
    "blue": "#8ab4f8", "magenta": "#d7a1f9", "cyan": "#7fd7e3", "white": "#ffffff",
}


def run(command, columns, rows, until):
    screen = pyte.Screen(columns, 400 if until is None else rows)
    stream = pyte.ByteStream(screen)
    child, master = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        stream.feed(data)
        if until is not None and any(until in line for line in screen.display):
            os.kill(child, signal.SIGTERM)
            break
    os.waitpid(child, 0)
    return screen


def ink(cell):
    if cell.fg in INK:
        return INK[cell.fg]
    return "#" + cell.fg if len(cell.fg) == 6 else INK["default"]


def runs(line, columns):
    """The pieces of a line that look alike: column, text, ink, bold."""
    found = []
    for column in range(columns):
        cell = line[column]
        if not cell.data:
            continue
        look = (ink(cell), cell.bold)
        wide = any(east_asian_width(it) in "WF" for it in cell.data)
        if found and tuple(found[-1][2:4]) == look and not wide and not found[-1][4]:
            found[-1][1] += cell.data
        else:
            found.append([column, cell.data, *look, wide])
    return [it for it in found if it[1].strip()]


def draw(screen, rows, title):
    lines = [runs(screen.buffer[number], screen.columns) for number in range(screen.lines)]
    while lines and not lines[-1]:
        lines.pop()
    lines = lines[-rows:]
    width, top = screen.columns * COLUMN + 24, 40
    height = top + len(lines) * ROW + 12
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="#16181c"/>',
        '<g fill="#4a505a"><circle cx="18" cy="18" r="5"/><circle cx="34" cy="18" r="5"/><circle cx="50" cy="18" r="5"/></g>',
        f'<g font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14">',
        f'<text x="70" y="23" fill="#a0a6b0">{escape(title)}</text>',
    ]
    for number, line in enumerate(lines):
        y = top + number * ROW + 14
        for column, text, colour, bold, _ in line:
            weight = ' font-weight="bold"' if bold else ""
            # Viewers fold spaces, so what stands behind several gets a place of its own.
            for piece in re.finditer(r"\S+(?: \S+)*", text):
                x = 12 + (column + piece.start()) * COLUMN
                out.append(f'<text x="{x:.1f}" y="{y}" fill="{colour}"{weight}>{escape(piece[0])}</text>')
    out += ["</g>", "</svg>", ""]
    return "\n".join(out)


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--")
    command, arguments = arguments[split + 1 :], arguments[:split]
    columns, rows, out = int(arguments[0]), int(arguments[1]), arguments[2]
    options = dict(zip(arguments[3::2], arguments[4::2]))
    title = options.get("--title", " ".join(command))
    screen = run(command, columns, rows, options.get("--until"))
    with open(out, "w", encoding="utf-8") as file:
        file.write(draw(screen, rows, title))


main()
