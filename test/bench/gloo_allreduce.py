"""gloo_allreduce.py LABEL ROUNDS MIB...: seconds of PyTorch's all-reduce over gloo, one rank on each node of a Slurm
step, as lines like those of test/bench/allreduce.cpp. The slowest rank counts."""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

label, rounds = sys.argv[1], int(sys.argv[2])
rank, ranks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="tcp://n1:23456", rank=rank, world_size=ranks)
for mib in map(float, sys.argv[3:]):
    data = torch.zeros(int(mib * 2**18))
    size = data.numel() * 4
    calls = 1 if size >= 4 << 20 else 10 if size >= 256 << 10 else 50
    times = []
    for _ in range(rounds + 1):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            dist.all_reduce(data)
        seconds = torch.tensor([(time.perf_counter() - begin) / calls])
        dist.all_reduce(seconds, dist.ReduceOp.MAX)
        times.append(seconds.item())
    times = times[1:]
    if rank == 0:
        middle = statistics.median(times)
        bus = 2 * (ranks - 1) / ranks * size / middle
        print(f"{label},{ranks},f32,{size},gloo,{middle:.6f},{bus:.0f},{min(times):.6f},{max(times):.6f}", flush=True)
