//! Engines that ask a model, against a server on this machine that speaks as each provider does, well or not.

#[cfg(test)]
#[path = "../../examples/dedup_pairs_of_model/asked.rs"]
mod asked;
#[cfg(test)]
mod cognifiers;
#[cfg(test)]
mod embedders;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod measured;
#[cfg(test)]
mod server;
