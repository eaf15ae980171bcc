"""Adapter of the rules train_bpe, train_bpe_initial and train_unigram."""

from pathlib import Path

from reproduction.job import job
from sagevocab.corpus.words import WordCorpus
from sagevocab.huggingface.export import WordSettings, export_greedy, export_unigram
from sagevocab.huggingface.sentencepiece import pieces_of_model, scores_of_model, write_model
from sagevocab.initial.sentencepiece_models import TrainingSettings, train_bpe, train_unigram

with job(snakemake):
    params, words = snakemake.params, WordSettings(**snakemake.params.words)
    settings, path = TrainingSettings(**params.training), snakemake.output.model
    folder = Path(path).parent
    train = {"bpe": train_bpe, "unigram": train_unigram}[params.method]
    model = train(WordCorpus.load(snakemake.input.words), params.size, settings, params.key)
    write_model(path, model)
    if params.method == "bpe":
        export_greedy(folder, pieces_of_model(model), words)
    else:
        pieces, scores = pieces_of_model(model), scores_of_model(model)
        export_unigram(folder, pieces, scores, words)
