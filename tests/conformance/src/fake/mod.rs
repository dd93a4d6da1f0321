//! Stand-ins for services: real HTTP on loopback, behaviour as recorded from the real ones, every request kept whole for
//! assertions, and faults on demand.

mod mem0;
mod mem0_platform;
mod mem0_self_hosted;
mod openviking;
mod server;
mod words;

pub use mem0_platform::{MEM0_PLATFORM_KEY, Mem0Platform};
pub use mem0_self_hosted::{MEM0_SELF_HOSTED_KEY, Mem0SelfHosted};
pub use openviking::{OPENVIKING_KEY, OPENVIKING_ROOT_KEY, OpenViking, OpenVikingAuth, OpenVikingSettings};
pub use server::{FakeServer, Fault, Recorded, Request, Response};
