//! CustomResourceDefinitions: what they say about objects, and what becomes of objects by it.
