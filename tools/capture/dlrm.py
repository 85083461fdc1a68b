"""DLRM, M. Naumov et al., arXiv 1906.00091: MLP of dense features, one embedding row or a sum of some per table, pairwise products, MLP."""
import torch
from torch import nn


def mlp(widths, last=None):
    layers = []
    for width, following in zip(widths, widths[1:]):
        layers += [nn.Linear(width, following), nn.ReLU()]
    return nn.Sequential(*layers[:-1], *([last] if last else []))


class Dlrm(nn.Module):
    """dense [batch, dense_features], indices [tables, batch] or [tables, batch, lookups] -> logits [batch, 1]"""

    def __init__(self, tables, rows, dim, bottom=None, top=(1024, 1024, 1024, 1), sparse=True):
        super().__init__()
        bottom = bottom or [512, 512, dim]
        self.dense_features = bottom[0]
        self.bottom = mlp(bottom, nn.ReLU())
        self.embeddings = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum", sparse=sparse) for _ in range(tables))
        features = tables + 1
        self.top = mlp([dim + features * (features - 1) // 2, *top])
        self.register_buffer("pairs", torch.tril_indices(features, features, offset=-1))

    def forward(self, dense, indices):
        bottom = self.bottom(dense)
        rows = [table(index if index.dim() == 2 else index.unsqueeze(1)) for table, index in zip(self.embeddings, indices)]
        features = torch.stack([bottom, *(row.to(bottom.dtype) for row in rows)], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        return self.top(torch.cat([bottom, products[:, self.pairs[0], self.pairs[1]]], dim=1))
