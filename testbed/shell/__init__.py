"""The shell of a live fabric: Mininet's own command line, and commands that speak to the engine.

line        request and answer between the two processes
desk        the engine's side: takes requests while the clock runs, hands each to its command
commands/   one file a command, self-registered
session     a live fabric from its start to the user's last line
"""
