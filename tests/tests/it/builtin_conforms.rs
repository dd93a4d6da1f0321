//! The builtin provider fulfils what every provider does.

use memory_conformance::{Need, Running, Subject, async_trait};
use tests::Home;

struct Builtin;

#[async_trait]
impl Subject for Builtin {
    fn name(&self) -> String {
        "builtin".to_owned()
    }

    fn lacks(&self) -> Vec<Need> {
        vec![Need::BatchLimit, Need::Faults]
    }

    async fn start(&self) -> Running {
        let home = Home::new();
        let memory = home.open().await;
        let provider = memory.builtin.clone().unwrap();
        Running::of(provider).stopping_by(async move { memory.engine.shutdown().await }).keeping(home)
    }
}

memory_conformance::conformance!(Builtin);
