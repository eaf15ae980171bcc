"""What decides a tokenizer, and what its model card says."""


def vocabulary_files():
    """The folder of every tokenizer, by its first file."""
    return expand(result("vocab/{lang}/{tok}/tokenizer.json"), lang=LANGUAGES, tok=TOKENIZERS)


def bpe_tokenizers():
    """Tokenizers of method `bpe`; `bpe` itself also where only `bpe_merges` is to be compared."""
    named = config["tokenizer_settings"].get("bpe", {}).get("method") == "bpe"
    return sorted({*tokenizers_of_method("bpe"), *(["bpe"] if named else [])})


def sentencepiece_settings():
    """What sentencepiece is told beside the size."""
    keys = ("character_coverage", "max_piece_length", "max_sentence_length", "normalization")
    return {key: config["vocabulary"][key] for key in keys}


def word_settings():
    """How text becomes words, in the library and in every exported tokenizer."""
    return {key: config["vocabulary"][key] for key in ("normalization", "max_word_chars")}


def vocabulary_card(method, **settings):
    """What the model card of a vocabulary trained here says, by language."""
    return lambda wildcards: {
        "language": wildcards.lang,
        "language_name": setting("language_settings", wildcards.lang)["name"],
        "method": method,
        "source": {
            field: value
            for field, value in resolved_source("language_settings", wildcards.lang).items()
            if field in ("kind", "name", "title", "licence")
        },
        "settings": settings,
    }


def corpus_description(wildcards):
    """What the retrieved corpus of a language really is, for model cards; nothing for a local file."""
    source = setting("language_settings", wildcards.lang)["source"]
    description = result(f"retrieved/corpora/{wildcards.lang}.source.json")
    return [description] if is_retrieved(source) else []


def sage_reading(wildcards):
    """Which reading of SaGe a tokenizer is: its preset and the keys that override it."""
    stanza = setting("tokenizer_settings", wildcards.tok)
    return {"preset": stanza.get("preset", DEFAULT_PRESET), **overrides(stanza)}


def sage_decoder(wildcards):
    """The decoder of a SaGe tokenizer's ablation."""
    return reading_settings(sage_reading(wildcards))["decoder"]


def sage_parameters(wildcards):
    """All that decides a SaGe vocabulary, beside its corpus, initial pieces and embeddings."""
    size = config["vocabulary"]["final_size"]
    return {"final_size": size, "seed": config["seed"], **config["sage"], **sage_reading(wildcards)}


def sage_card(wildcards):
    """What the model card of a SaGe vocabulary says: its reading and the numbers of the ablation."""
    settings = sage_parameters(wildcards)
    method = f"SaGe, preset {settings['preset']}, segmented by greedy longest match"
    initial_size = config["vocabulary"]["initial_size"]
    return vocabulary_card(method, initial_size=initial_size, **settings)(wildcards)


def sage_settings():
    """Settings of the SaGe tokenizers that figures and tables show: preset and overrides."""
    stanzas = {name: setting("tokenizer_settings", name) for name in PAPER_TOKENIZERS}
    return {
        name: {key: value for key, value in stanza.items() if key not in ("label", "method")}
        for name, stanza in stanzas.items()
        if stanza["method"] == "sage"
    }


def preset_title(name):
    """Reading of the method that a SaGe tokenizer stands for, with overrides; None for others."""
    stanza = setting("tokenizer_settings", name)
    return title_of_reading(stanza) if stanza["method"] == "sage" else None


def presets_of(tokenizers):
    """What each SaGe tokenizer among some stands for, by its label: preset, with overrides."""
    presets = zip(labels_of(tokenizers), map(preset_title, tokenizers))
    return {label: preset for label, preset in presets if preset}


def title_of_reading(stanza):
    """Preset of a reading of the method, and the keys that override it."""
    changed = [f"{key}: {value}" for key, value in sorted(overrides(stanza).items())]
    preset = stanza.get("preset", DEFAULT_PRESET)
    return f"{preset} ({', '.join(changed)})" if changed else preset


def external_path(wildcards):
    """Where a tokenizer of method `external` lies."""
    path = setting("tokenizer_settings", wildcards.tok)["path"]
    return path.replace("{lang}", wildcards.lang)


def external_files(wildcards):
    """The files of an external tokenizer; none if they are missing, which the job then explains."""
    path = Path(external_path(wildcards))
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [str(file) for file in files if file.is_file()]


def external_card(wildcards):
    """What the model card of an external tokenizer says."""
    card = vocabulary_card(f"imported from `{Path(external_path(wildcards)).name}`")(wildcards)
    return {**card, "source": None}
