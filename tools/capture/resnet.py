"""ResNet-50, K. He et al., arXiv 1512.03385, with the stride on the 3 x 3 convolution as torchvision has it."""
from torch import nn


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    """[batch, inputs, h, w] -> [batch, 4 width, h / stride, w / stride]"""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.first, self.second = convolution(inputs, width, 1), convolution(width, width, 3, stride)
        self.third = convolution(width, 4 * width, 1)
        same = inputs == 4 * width and stride == 1
        self.shortcut = nn.Identity() if same else convolution(inputs, 4 * width, 1, stride)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        inside = self.relu(self.second(self.relu(self.first(x))))
        return self.relu(self.third(inside) + self.shortcut(x))


def resnet50(classes=1000):
    """[batch, 3, 224, 224] -> [batch, classes]"""
    layers = [*convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
