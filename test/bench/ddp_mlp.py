#!/usr/bin/env python3
"""The peer of `make bench-steps`: a network of 784-2048-2048-10 in PyTorch DDP (gloo, CPU), one thread per rank.

Arguments: samples on each rank, steps, and f32 or bf16: what gradients travel in, bf16 by PyTorch's own hook.
Synthetic images that are already in memory. Started by srun: rank and world size are Slurm's, MASTER_ADDR and
MASTER_PORT come from the caller. Rank 0 prints the median step in milliseconds.
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.nn.parallel import DistributedDataParallel

batch, steps, warmup = int(sys.argv[1]), int(sys.argv[2]), 20
torch.set_num_threads(1)
torch.manual_seed(1)
rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
dist.init_process_group("gloo", rank=rank, world_size=world)

net = nn.Sequential(nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10))
model = DistributedDataParallel(net)
if sys.argv[3] == "bf16":
    model.register_comm_hook(None, bf16_compress_hook)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
loss_of = nn.CrossEntropyLoss()
images = torch.rand(8 * batch, 784)
labels = torch.randint(0, 10, (8 * batch,))

times = []
for step in range(warmup + steps):
    first = step % 8 * batch
    begin = time.perf_counter()
    loss_of(model(images[first:first + batch]), labels[first:first + batch]).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step >= warmup:
        times.append(time.perf_counter() - begin)
if rank == 0:
    print(f"{statistics.median(times) * 1e3:.3f}")
dist.destroy_process_group()
