from sagevocab.comparison import compare as compare
from sagevocab.foreign import load as load
from sagevocab.training import train as train

__version__: str
