//! The controllers of the embedded cluster: pure steps from what is stored to what they want written.
