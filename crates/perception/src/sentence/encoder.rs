//! A BERT that runs: words in, one vector for each text out (Devlin et al., 2019, arXiv 1810.04805).
//!
//! Owns padding, the forward pass and pooling. It must not know where weights come from, nor what a text is.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{
    Activation, Embedding, LayerNorm, Linear, Module as _, VarBuilder, embedding, layer_norm,
    linear,
};

use super::directory::{Bert, Pooling};

/// What is added to how well a word fits one that only fills up: nothing is left of it.
const NEVER: f64 = -1e30;

/// A text as the tokenizer cut it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// The words, by their place in the vocabulary.
    pub(super) ids: Vec<u32>,
    /// Which sentence of a pair each is of.
    pub(super) types: Vec<u32>,
}

/// A model with its weights.
pub(super) struct Encoder {
    words: Embedding,
    places: Embedding,
    sentences: Embedding,
    norm: LayerNorm,
    layers: Vec<Layer>,
    pooling: Pooling,
    padding: u32,
}

/// One layer: words hear one another, then each is worked on alone.
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    heard: Linear,
    heard_norm: LayerNorm,
    wide: Linear,
    act: Activation,
    narrow: Linear,
    norm: LayerNorm,
    heads: usize,
}

impl Encoder {
    /// The model of some weights, which are in the form of safetensors.
    ///
    /// # Errors
    /// They are damaged, or not of this configuration.
    pub(super) fn load(bert: &Bert, pooling: Pooling, weights: &[u8]) -> Result<Self> {
        let weights = VarBuilder::from_slice_safetensors(weights, DType::F32, &Device::Cpu)?;
        // Weights that were saved with a head of another task beside them.
        let weights = if weights.contains_tensor("bert.embeddings.word_embeddings.weight") {
            weights.pp("bert")
        } else {
            weights
        };
        let size = bert.hidden_size;
        let named = weights.pp("embeddings");
        let layer = |place| Layer::load(bert, &weights.pp(format!("encoder.layer.{place}")));
        Ok(Self {
            words: embedding(bert.vocab_size, size, named.pp("word_embeddings"))?,
            places: embedding(
                bert.max_position_embeddings,
                size,
                named.pp("position_embeddings"),
            )?,
            sentences: embedding(
                bert.type_vocab_size,
                size,
                named.pp("token_type_embeddings"),
            )?,
            norm: layer_norm(size, bert.layer_norm_eps, named.pp("LayerNorm"))?,
            layers: (0..bert.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            pooling,
            padding: bert.pad_token_id,
        })
    }

    /// One vector for each text, of any length. No text is empty. It computes for long.
    ///
    /// # Errors
    /// A word lies outside of the vocabulary, or there are more of them than places.
    pub(super) fn encode(&self, texts: &[&Tokens]) -> Result<Vec<Vec<f32>>> {
        let width = texts.iter().map(|text| text.ids.len()).max().unwrap_or(0);
        let shape = (texts.len(), width);
        let mut ids = vec![self.padding; texts.len() * width];
        let mut types = vec![0_u32; texts.len() * width];
        let mut mask = vec![0.0_f32; texts.len() * width];
        for (row, text) in texts.iter().enumerate() {
            let (begin, length) = (row * width, text.ids.len());
            ids[begin..begin + length].copy_from_slice(&text.ids);
            types[begin..begin + length].copy_from_slice(&text.types);
            mask[begin..begin + length].fill(1.0);
        }
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu)?;
        let types = Tensor::from_vec(types, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let words = self.forward(&ids, &types, &mask)?;
        self.pool(&words, &mask)?.to_vec2()
    }

    /// The vectors of words: texts × words × coordinates.
    fn forward(&self, ids: &Tensor, types: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let (_, width) = ids.dims2()?;
        let width = u32::try_from(width).map_err(candle_core::Error::wrap)?;
        let places = Tensor::arange(0, width, &Device::Cpu)?;
        let sum = (self.words.forward(ids)? + self.sentences.forward(types)?)?;
        let sum = sum.broadcast_add(&self.places.forward(&places)?)?;
        let mut words = self.norm.forward(&sum)?;
        // Texts × heads × words that hear × words that are heard.
        let unheard = mask.affine(-NEVER, NEVER)?.unsqueeze(1)?.unsqueeze(1)?;
        for layer in &self.layers {
            words = layer.forward(&words, &unheard)?;
        }
        Ok(words)
    }

    /// What the vectors of words make together: texts × coordinates.
    fn pool(&self, words: &Tensor, mask: &Tensor) -> Result<Tensor> {
        match self.pooling {
            Pooling::First => words.narrow(1, 0, 1)?.squeeze(1),
            Pooling::Mean => {
                let mask = mask.unsqueeze(2)?;
                let sums = words.broadcast_mul(&mask)?.sum(1)?;
                sums.broadcast_div(&mask.sum(1)?)
            }
        }
    }
}

impl Layer {
    fn load(bert: &Bert, named: &VarBuilder<'_>) -> Result<Self> {
        let (size, wide) = (bert.hidden_size, bert.intermediate_size);
        let part = |name: &str, from: usize, to: usize| linear(from, to, named.pp(name));
        let norm = |name: &str| layer_norm(size, bert.layer_norm_eps, named.pp(name));
        Ok(Self {
            query: part("attention.self.query", size, size)?,
            key: part("attention.self.key", size, size)?,
            value: part("attention.self.value", size, size)?,
            heard: part("attention.output.dense", size, size)?,
            heard_norm: norm("attention.output.LayerNorm")?,
            wide: part("intermediate.dense", size, wide)?,
            act: bert.hidden_act,
            narrow: part("output.dense", wide, size)?,
            norm: norm("output.LayerNorm")?,
            heads: bert.num_attention_heads,
        })
    }

    fn forward(&self, words: &Tensor, unheard: &Tensor) -> Result<Tensor> {
        let heard = self.heard.forward(&self.attend(words, unheard)?)?;
        let words = self.heard_norm.forward(&(heard + words)?)?;
        let wide = self.act.forward(&self.wide.forward(&words)?)?;
        let narrow = self.narrow.forward(&wide)?;
        self.norm.forward(&(narrow + words)?)
    }

    /// What each word hears of all others of its text.
    fn attend(&self, words: &Tensor, unheard: &Tensor) -> Result<Tensor> {
        let (texts, width, size) = words.dims3()?;
        let each = size / self.heads;
        let by_head = |part: Tensor| {
            let part = part.reshape((texts, width, self.heads, each))?;
            part.transpose(1, 2)?.contiguous()
        };
        let query = by_head(self.query.forward(words)?)?;
        let key = by_head(self.key.forward(words)?)?;
        let value = by_head(self.value.forward(words)?)?;
        // A head has a few hundred coordinates at most.
        let root = f64::from(u32::try_from(each).map_err(candle_core::Error::wrap)?).sqrt();
        let fits = ((query / root)?.matmul(&key.t()?)?).broadcast_add(unheard)?;
        let heard = softmax_last_dim(&fits)?.matmul(&value)?;
        heard.transpose(1, 2)?.contiguous()?.flatten_from(D::Minus2)
    }
}
