#!/usr/bin/env python3
"""The peer of `make bench`: the network of sbatch/fashion-mnist.conf in PyTorch DDP (gloo, CPU), one thread per rank.

Synthetic images that are already in memory: reading data costs it nothing. RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT come from the caller. Rank 0 prints the median step in milliseconds and the images per second.
"""
import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--global-batch", type=int, required=True)
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--warmup", type=int, default=20)
parser.add_argument("--dropout", type=float, required=True)
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(1)
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo")

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(),
    nn.Conv2d(16, 32, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(),
    nn.Flatten(), nn.Dropout(options.dropout), nn.Linear(32 * 7 * 7, 128), nn.ReLU(),
    nn.Dropout(options.dropout), nn.Linear(128, 10),
).to(memory_format=torch.channels_last)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
loss_of = nn.CrossEntropyLoss()
batch = options.global_batch // world
images = torch.rand(16 * batch, 1, 28, 28).to(memory_format=torch.channels_last)
labels = torch.randint(0, 10, (16 * batch,))

times = []
for step in range(options.warmup + options.steps):
    first = step % 16 * batch
    begin = time.perf_counter()
    loss = loss_of(model(images[first:first + batch]), labels[first:first + batch])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step >= options.warmup:
        times.append(time.perf_counter() - begin)
if rank == 0:
    median = statistics.median(times)
    print(f"{median * 1e3:.3f} ms {options.global_batch / median:.0f} images/s (PyTorch {torch.__version__})")
dist.destroy_process_group()
