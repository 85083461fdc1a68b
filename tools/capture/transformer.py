"""A transformer with the shapes of GPT-2 (pre-norm, causal) or BERT (post-norm), output weights tied to the word embeddings."""
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    """[batch, sequence, hidden] -> the same"""

    def __init__(self, hidden, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.before_attention, self.before_mlp = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.projection = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.dropout = nn.Dropout(0.1)

    def attention(self, x):
        query, key, value = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=2))
        mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=0.1, is_causal=self.causal)
        return self.dropout(self.projection(mixed.transpose(1, 2).flatten(2)))

    def mlp(self, x):
        return self.dropout(self.down(functional.gelu(self.up(x))))

    def forward(self, x):
        if self.causal:
            x = x + self.attention(self.before_attention(x))
            return x + self.mlp(self.before_mlp(x))
        x = self.before_attention(x + self.attention(x))
        return self.before_mlp(x + self.mlp(x))


class Transformer(nn.Module):
    """words [batch, positions] -> logits [batch, positions, vocabulary]"""

    def __init__(self, vocabulary, positions, hidden, layers, heads, causal, checkpointed=False):
        super().__init__()
        self.checkpointed = checkpointed
        self.words, self.positions = nn.Embedding(vocabulary, hidden), nn.Embedding(positions, hidden)
        self.dropout = nn.Dropout(0.1)
        self.layers = nn.Sequential(*(Layer(hidden, heads, causal) for _ in range(layers)))
        self.norm = nn.LayerNorm(hidden)
        self.register_buffer("places", torch.arange(positions))

    def forward(self, words):
        x = self.dropout(self.words(words) + self.positions(self.places[:words.shape[1]]))
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointed else layer(x)
        return functional.linear(self.norm(x), self.words.weight)
