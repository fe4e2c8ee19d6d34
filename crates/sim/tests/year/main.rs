//! A year of work in simulated time: a thousand tasks, and maintenance every night.

#[cfg(test)]
mod nights;
