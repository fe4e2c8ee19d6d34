//! A year of work in simulated time: a thousand tasks, what people dispute, and maintenance every night.

#[cfg(test)]
mod disputes;
#[cfg(test)]
mod nights;
#[cfg(test)]
mod tasks;
