"""What a user types. One command is one file here, named as the command, with a click command of the same name:

    testbed/cli/check.py    @click.command() def check(...)    ``rocelab check``

To add one, add its file and its name to `testbed.cli.main.COMMANDS`, whose order is that of the help. A command's file
is imported only when that command runs or the help is shown; what is heavy (numpy, pyarrow, mininet, scapy) is
imported inside its function. A command says that something is wrong by raising a `RocelabError`: `main` prints its
message on standard error and ends with its exit status. Results go to standard output with `click.echo`.
"""
