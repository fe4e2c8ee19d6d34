//! A process that ends at any of its calls, of store, index, bus, model or clock, leaves exactly one result.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod keeping;
#[cfg(test)]
mod maintaining;
#[cfg(test)]
mod promoting;
