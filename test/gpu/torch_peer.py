#!/usr/bin/env python3
"""The peer of test/gpu/speed: a model trained in PyTorch on one GPU, in bf16 by autocast, on images that are there.

    torch_peer.py mlp|resnet18 BATCH eager|compile

Prints the median of a step in milliseconds, forward, backward and SGD.
"""
import statistics
import sys
import time

import torch
import torch.nn as nn

name, batch, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.manual_seed(1)
device = torch.device("cuda")


class Block(nn.Module):
    def __init__(self, inside, out, stride):
        super().__init__()
        self.first = nn.Conv2d(inside, out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(out)
        self.shortcut = None
        if stride != 1 or inside != out:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return torch.relu(y + (x if self.shortcut is None else self.shortcut(x)))


def resnet18(channels, classes):
    layers = [nn.Conv2d(channels, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for out in (64, 128, 256, 512):
        layers += [Block(inside, out, 1 if out == 64 else 2), Block(out, out, 1)]
        inside = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


if name == "mlp":
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(),
                        nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10)).to(device)
    images = torch.rand(batch, 1, 28, 28, device=device)
    classes = 10
else:
    net = resnet18(3, 1000).to(device, memory_format=torch.channels_last)
    images = torch.rand(batch, 3, 224, 224, device=device).to(memory_format=torch.channels_last)
    classes = 1000
labels = torch.randint(0, classes, (batch,), device=device)
loss_of = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, fused=True)


def loss(x, wanted):
    with torch.autocast("cuda", torch.bfloat16):
        return loss_of(net(x), wanted)


if way == "compile":
    loss = torch.compile(loss)
times = []
for step in range(60):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    loss(images, labels).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    if step >= 20:
        times.append(time.perf_counter() - begin)
print(f"{statistics.median(times) * 1e3:.3f}")
