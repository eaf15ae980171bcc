"""One of the processes that train a model together; `pretrain` starts them.

By hand, with a JSON file of `pretrain`'s arguments:

    torchrun --standalone --nproc-per-node 2 -m sagevocab.lm.worker arguments.json
    accelerate launch --num_processes 2 -m sagevocab.lm.worker arguments.json
"""

from __future__ import annotations

from sagevocab.lm.launch import worker
from sagevocab.lm.pretrain import pretrain
from sagevocab.lm.settings import PretrainSettings

if __name__ == "__main__":
    with worker() as arguments:
        settings = PretrainSettings.from_config(arguments.pop("settings"))
        pretrain(settings=settings, **arguments)
