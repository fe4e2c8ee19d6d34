//! A process that ends at any of its calls, of store, index, model or clock, leaves exactly one result.

#[cfg(test)]
mod calls;
