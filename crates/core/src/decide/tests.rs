//! Tests of the rules as a whole: commands against a scope whose facts are all at hand.

mod anchors;
mod binding;
mod contradicting;
mod decisions;
mod entries;
mod erasing;
mod evidence;
mod failures;
mod gated;
mod governance;
mod promotions;
mod publishing;
mod restoring;
mod retiring;
mod tasks;
mod trajectories;
mod undoing;
mod world;
