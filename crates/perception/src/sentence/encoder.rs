//! A BERT that runs: words in, one vector for each text out.
//!
//! Owns padding and pooling. It must not know where weights come from, nor what a text is.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};

use super::directory::Pooling;

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
    model: BertModel,
    pooling: Pooling,
    padding: u32,
}

impl Encoder {
    /// The model of some weights, which are in the form of safetensors.
    ///
    /// # Errors
    /// They are damaged, or not of this configuration.
    pub(super) fn load(config: &Config, pooling: Pooling, weights: &[u8]) -> Result<Self> {
        let weights = VarBuilder::from_slice_safetensors(weights, DType::F32, &Device::Cpu)?;
        let padding = u32::try_from(config.pad_token_id).map_err(candle_core::Error::wrap)?;
        Ok(Self {
            model: BertModel::load(weights, config)?,
            pooling,
            padding,
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
        let words = self.model.forward(&ids, &types, Some(&mask))?;
        self.pool(&words, &mask)?.to_vec2()
    }

    /// What the vectors of words (texts × words × coordinates) make together (texts × coordinates).
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
