"""The RoCEv2 wire format: what stands in the frames that cross the fabric, and nothing of what it is for.

opcodes    the table of opcodes: extension headers, place in the message, payload
psn        24-bit sequence numbers
aeth       what an acknowledgement says
icrc       the CRC that switches leave right
layers     scapy layers: the definition, for building and reading single frames
template   frames by patching one that scapy built, for sending many
packet     frames to plain values, for receiving many
"""
