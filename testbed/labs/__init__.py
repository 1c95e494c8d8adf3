"""Labs for a class: what is handed out, and how it is checked.

    catalogue   the labs that there are, and handing one out
    sheet       the points of one lab, and what a student's answers and files are worth
    answers     a student's answers.yaml
    trials      runs that a check looks at: the lab's scenario, or the student's
    grade       a whole class in one go

A lab is a folder of ``labs/``: ``lab.yaml`` (title, minutes, what one learns), ``README.md`` (goal, steps, questions),
what a student starts from, ``check.py`` and ``solution/``. The last two stay with the teacher, but nothing in them is
a secret: the check computes what is right, by running scenarios.
"""
