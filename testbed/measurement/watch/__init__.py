"""``rocelab run --watch``: the fabric, live, in the terminal.

    view.py      what is shown, as frozen values
    look.py      a run under way -> a view, with what happened since the last look
    draw.py      a view -> lines for a terminal of a given size
    screen.py    when to look and draw, and what becomes of the terminal; plain lines where there is none

The run's loop calls, as with the progress bar: there is no thread, and nothing in the model changes.
"""
