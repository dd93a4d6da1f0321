//! Measuring: how well search finds what is asked for, and how fast everything is. Users can run both.

mod retrieval;
mod speed;

pub use retrieval::{RetrievalReport, RetrievalScores, retrieval};
pub use speed::{SpeedReport, speed};
