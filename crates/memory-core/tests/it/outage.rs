//! The external provider dies in the middle of 200 turns and comes back.

use std::time::Duration;

use memory_core::config::EngineMode;
use memory_core::*;

use crate::provider::Weather;
use crate::setting::{Setting, memory, turn};

const TURNS: usize = 200;
const DOWN: Weather = Weather::Failing(ErrorKind::Unreachable);

/// The weather from turn to turn: it dies in every way, and its last words are lost.
fn weather(turn: usize) -> Option<Weather> {
    match turn {
        40 | 150 => Some(Weather::Deaf),
        45 => Some(DOWN),
        90 => Some(Weather::Hanging),
        110 => Some(Weather::Failing(ErrorKind::Unauthorized)),
        120 | 160 => Some(Weather::Fine),
        _ => None,
    }
}

#[tokio::test]
async fn all_turns_are_there_exactly_once_and_nothing_was_held_up() {
    for mode in [EngineMode::External, EngineMode::Both] {
        let setting = Setting::new(mode);
        let courier = setting.engine.courier().unwrap().clone();
        tokio::spawn(async move { courier.run(std::future::pending()).await });
        let conversation = setting.conversation("长对话");
        for n in 0..TURNS {
            if let Some(weather) = weather(n) {
                setting.external.set(weather);
            }
            let start = setting.time.now();
            conversation.before_model(&format!("第 {n} 个问题")).await;
            assert!(setting.time.since(start) <= 5.01, "{mode}: turn {n} recalled for {} s", setting.time.since(start));
            let start = setting.time.now();
            conversation.after_turn(turn(&format!("第 {n} 个问题"))).await.unwrap();
            assert!(setting.time.since(start) < 0.01, "{mode}: turn {n} was held up");
            setting.pass(7).await;
        }
        conversation.shutdown(Duration::from_secs(10)).await.unwrap();
        setting.deliver_all().await;
        let turns: Vec<String> = setting.external.turns().into_iter().map(|turn| turn.user_text).collect();
        assert_eq!(turns, (0..TURNS).map(|n| format!("第 {n} 个问题")).collect::<Vec<_>>(), "{mode}");
        assert_eq!(setting.queue.count().await.unwrap(), (0, 0));
        if mode == EngineMode::Both {
            assert_eq!(setting.builtin.turns().len(), TURNS);
        }
    }
}

#[tokio::test]
async fn all_writes_are_there_exactly_once_and_in_order() {
    for mode in [EngineMode::External, EngineMode::Both] {
        let mut setting = Setting::new(mode);
        for n in 0..TURNS {
            if let Some(weather) = weather(n) {
                setting.external.set(weather);
            }
            if n % 50 == 49 {
                // Another process goes on; the one before did not close.
                setting.restart(mode);
            }
            let start = setting.time.now();
            let outcome = setting.write(memory(&format!("记忆 {n}"))).await.outcome;
            assert!(setting.time.since(start) <= 5.01, "{mode}: {n} took {} s", setting.time.since(start));
            match mode {
                EngineMode::Both => assert_eq!(outcome, WriteOutcome::Stored),
                _ => assert!(matches!(outcome, WriteOutcome::Stored | WriteOutcome::Queued), "{outcome:?}"),
            }
            setting.pass(3).await;
        }
        setting.external.set(Weather::Fine);
        setting.deliver_all().await;
        assert_eq!(setting.external.bodies(), (0..TURNS).map(|n| format!("记忆 {n}")).collect::<Vec<_>>(), "{mode}");
    }
}
