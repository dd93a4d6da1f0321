//! The default embedder: a table of one vector and one importance weight for each token, bundled in the binary.
//!
//! A text's vector is the normalised sum of its tokens' rows. Made by `tools/static_table.py`, which also describes the
//! layout; licence and origin stand beside the asset.

mod embedder;
mod maximum_similarity;
mod segment;
mod table;

pub use embedder::StaticEmbedder;
pub use table::StaticTable;
