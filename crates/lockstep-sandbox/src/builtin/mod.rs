//! What the API server adds to objects of built-in kinds, and what it refuses of them.
