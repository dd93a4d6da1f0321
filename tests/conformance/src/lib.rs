//! What every provider fulfils, selected by what a provider can do; and stand-ins for services that providers talk to.
//!
//! A provider is brought in as a [`Subject`], which starts an empty one for each scenario and names what it lacks. Two lines
//! then make each scenario a test of its own, and one more test holds the subject to what it says of itself:
//!
//! ```ignore
//! struct Mine;
//!
//! #[memory_conformance::async_trait]
//! impl memory_conformance::Subject for Mine {
//!     fn name(&self) -> String {
//!         "mine".to_owned()
//!     }
//!
//!     // What `Capability` says must agree; the rest is only known here. Anything left out is tested.
//!     fn lacks(&self) -> Vec<memory_conformance::Need> {
//!         vec![memory_conformance::Need::History, memory_conformance::Need::Tombstones]
//!     }
//!
//!     async fn start(&self) -> memory_conformance::Running {
//!         let server = memory_conformance::fake::FakeServer::start(|_| todo!()).await;
//!         let provider = MyProvider::new(server.url()).unwrap();
//!         // What fails on demand lets the scenarios about failures run; whatever it holds lives as long as the provider.
//!         memory_conformance::Running::new(provider).failing_by(move |fault| server.fail_always(fault))
//!     }
//! }
//!
//! memory_conformance::conformance!(Mine);
//! ```
//!
//! A subject that is only there at times, such as a real server, runs the whole suite in one test:
//! `run(&subject).await.expect_passed()`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

pub mod fake;

mod asking;
mod need;
mod report;
mod scenarios;
mod subject;

pub use async_trait::async_trait;

pub use asking::*;
pub use need::Need;
pub use report::{Report, Verdict, run};
pub use scenarios::*;
pub use subject::{Running, Subject, Trial};
