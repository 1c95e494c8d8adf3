"""``rocelab bench``: one collective at many sizes on one fabric, as nccl-tests does it.

sizes.py       "1M:64M:2"                    -> the sizes in bytes
series.py      a scenario, a collective      -> a checked scenario for each size
testbed.run    one_fabric                    -> measurements of each
report.bench   a row each                    -> the table, JSON
"""
