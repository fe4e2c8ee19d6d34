//! Engines that ask a model, against a server on this machine that speaks as each provider does, well or not.

mod cognifiers;
mod embedders;
mod hostile;
mod server;
