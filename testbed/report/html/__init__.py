"""report.html: a run, or several side by side, as one file that needs no network.

Everything is read from the run's directory, so that a report can be made at any time later:

    read.py      summary.json and the tables of a directory
    sketch.py    where the fabric's nodes stand in its picture
    tracks.py    time series, packed
    gantt.py     what each rank did when
    causes.py    where time went, and when
    answer.py    the sentence at the top
    results.py   the tables below it, a kind of work each
    grids.py     the tables that sort
    run_data.py  all of it as one value: what the page's scripts draw
    page.py      the value, the scripts, the style and the chart library in one file

The scripts are in `assets`, a file a section; `vendor` has the chart library. Equal runs give equal bytes: nothing of
the block `wall` is shown.
"""
