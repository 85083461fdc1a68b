"""Models of Hugging Face's transformers with random weights: for each a function of the package and a batch size, which gives the model and what it is called with."""
import torch


def tokens(model, batch, sequence):
    words = torch.randint(0, model.config.vocab_size, (batch, sequence))
    return model, {"input_ids": words, "labels": words}


def gpt2(transformers, batch, attention="eager", **shape):
    return tokens(transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation=attention, use_cache=False, **shape)), batch, 1024)


def bert(transformers, batch, attention="eager", sequence=512, **shape):
    return tokens(transformers.BertForMaskedLM(transformers.BertConfig(attn_implementation=attention, **shape)), batch, sequence)


def opt_1b3(transformers, batch):
    return tokens(transformers.OPTForCausalLM(transformers.OPTConfig(
        hidden_size=2048, num_hidden_layers=24, ffn_dim=8192, num_attention_heads=32, word_embed_proj_dim=2048, attn_implementation="eager",
        use_cache=False)), batch, 1024)


def t5(transformers, batch):
    """T5-base; 512 tokens to read, 128 to write."""
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12, decoder_start_token_id=0, use_cache=False))
    return model, {"input_ids": torch.randint(0, 32128, (batch, 512)), "labels": torch.randint(0, 32128, (batch, 128))}


def xlnet(transformers, batch):
    """XLNet-base."""
    return tokens(transformers.XLNetLMHeadModel(transformers.XLNetConfig(d_model=768, n_layer=12, n_head=12, d_inner=3072)), batch, 512)


def switch(transformers, batch):
    """Switch-base with 8 experts; 512 tokens to read, 128 to write."""
    model = transformers.SwitchTransformersForConditionalGeneration(transformers.SwitchTransformersConfig(
        d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_decoder_layers=12, num_sparse_encoder_layers=6, num_sparse_decoder_layers=6,
        num_heads=12, num_experts=8, expert_capacity=64, decoder_start_token_id=0, use_cache=False))
    return model, {"input_ids": torch.randint(0, 32128, (batch, 512)), "labels": torch.randint(0, 32128, (batch, 128))}


def llama_config(transformers, **shape):
    return transformers.LlamaConfig(vocab_size=128256, max_position_embeddings=131072, attn_implementation="sdpa", use_cache=False, **shape)


def llama_1b(transformers, batch, sequence=2048):
    """The shapes of Llama 3.2 1B."""
    return tokens(transformers.LlamaForCausalLM(llama_config(
        transformers, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
        tie_word_embeddings=True)), batch, sequence)


def llama_3b(transformers, batch):
    """The shapes of Llama 3.2 3B."""
    return tokens(transformers.LlamaForCausalLM(llama_config(
        transformers, hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24, num_key_value_heads=8,
        tie_word_embeddings=True)), batch, 2048)


def llama_8b_lora(transformers, batch):
    """The shapes of Llama 3.1 8B with adapters of rank 16 beside queries, keys, values and outputs, in the type of the weights."""
    import peft  # pylint: disable=import-outside-toplevel
    model = transformers.LlamaForCausalLM(llama_config(
        transformers, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        tie_word_embeddings=False))
    model = peft.get_peft_model(model, peft.LoraConfig(r=16, lora_alpha=32, lora_dropout=0.0, task_type="CAUSAL_LM",
                                                       target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]), autocast_adapter_dtype=False)
    return tokens(model, batch, 2048)


def mixtral(transformers, batch):
    """A small mixture of experts: 8 layers of 1,024 with 8 experts of 3,584, two for each token."""
    return tokens(transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=32000, hidden_size=1024, intermediate_size=3584, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4,
        num_local_experts=8, num_experts_per_tok=2, attn_implementation="sdpa", use_cache=False)), batch, 2048)


HUGGING_FACE = {
    "hf_gpt2": gpt2,
    "hf_gpt2_medium": lambda transformers, batch: gpt2(transformers, batch, "sdpa", n_embd=1024, n_layer=24, n_head=16),
    "hf_bert": bert,
    "hf_bert_large": lambda transformers, batch: bert(
        transformers, batch, "sdpa", 128, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
    "hf_opt_1b3": opt_1b3,
    "hf_t5": t5,
    "hf_xlnet": xlnet,
    "hf_switch": switch,
    "hf_llama": llama_1b,
    "hf_llama_8k": lambda transformers, batch: llama_1b(transformers, batch, 8192),
    "hf_llama_3b": llama_3b,
    "hf_llama_8b_lora": llama_8b_lora,
    "hf_mixtral": mixtral,
}
