//! Sentence transformers that run in this process, on tiny models that are made here, against a forward pass in
//! plain Rust that shares no line with the one that is tested.

#[cfg(test)]
mod forward;
#[cfg(test)]
mod hub;
#[cfg(test)]
mod opened;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod vectors;
