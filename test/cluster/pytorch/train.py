"""Forms a group from nothing but its environment, adds a tensor up over all ranks, and tells in one line how."""

import datetime
import os
import socket
import sys

import torch
import torch.distributed as dist

ELEMENTS = 1 << 20


def bytes_sent():
    """By interface of this node; ranks on one node talk over `lo`, whatever interface they use."""
    sent = {}
    for name in os.listdir("/sys/class/net"):
        if name != "lo":
            with open(f"/sys/class/net/{name}/statistics/tx_bytes") as file:
                sent[name] = int(file.read())
    return sent


def main():
    before = bytes_sent()
    dist.init_process_group("gloo", init_method="env://", timeout=datetime.timedelta(seconds=30))
    rank, size = dist.get_rank(), dist.get_world_size()
    values = torch.full((ELEMENTS,), float(rank + 1))
    dist.all_reduce(values)
    total = values[0].item()
    assert torch.all(values == total), "the elements of the sum differ"
    after = bytes_sent()
    busiest = max(after, key=lambda name: after[name] - before[name])
    # One write: the lines of several ranks share a terminal.
    sys.stdout.write(
        f"rank {rank} of {size} (local {os.environ['LOCAL_RANK']}) on {socket.gethostname()}: sum {total:g}, "
        f"GLOO_SOCKET_IFNAME={os.environ.get('GLOO_SOCKET_IFNAME')}, most bytes over {busiest}\n"
    )
    sys.stdout.flush()
    dist.barrier()
    dist.destroy_process_group()


main()
