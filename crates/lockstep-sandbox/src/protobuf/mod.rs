//! Bodies in protobuf, read by the field numbers of the real kinds.
