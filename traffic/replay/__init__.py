"""Replay of captured RoCEv2 packets: from a pcap or pcapng file onto the fabric.

capture.py     a file -> its RoCEv2 packets as plain values, and what else is in it
readdress.py   a packet -> the frame that the mapped hosts would exchange
job.py         sends each at its time, and counts what became of it
"""
