//! The builtin provider fulfils what every provider does.

use tests::{Home, conformance};

/// One test for each scenario, on an empty store.
macro_rules! conforms {
    ($($module:ident { $($scenario:ident),+ $(,)? })+) => {
        $(mod $module {
            use super::*;

            $(#[tokio::test(flavor = "multi_thread")]
            async fn $scenario() {
                let home = Home::new();
                let memory = home.open().await;
                conformance::$module::$scenario(memory.builtin.clone().unwrap().as_ref()).await;
                memory.engine.shutdown().await.unwrap();
            })+
        })+
    };
}

conforms! {
    writing {
        a_write_is_readable_at_once,
        the_same_text_is_one_memory,
        near_duplicates_are_known_and_differences_kept,
        what_was_forgotten_stays_forgotten,
        a_foreign_id_is_one_memory,
        secrets_are_taken_out,
        a_bad_item_is_refused_alone,
        every_script_is_kept,
    }
    messages {
        messages_are_kept_verbatim,
        messages_are_once_by_id_and_never_by_content,
        a_turn_is_kept_without_recalled_text,
        a_turn_without_session_is_in_the_default_one,
        a_session_narrows_messages,
        neighbours_and_sessions,
        prefetch_recalls_for_a_prompt,
    }
    records {
        ids_and_prefixes_name_items,
        an_update_changes_what_it_names,
        an_update_of_an_old_state_is_a_conflict,
        history_keeps_former_states,
        forgetting_takes_out_of_every_read,
        pages_hold_everything_once,
    }
    searching {
        an_empty_answer_says_why,
        conditions_hold,
        times_in_a_question_are_soft_evidence,
        questions_in_chinese_japanese_and_korean,
        identifiers_are_found,
        hostile_questions_are_plain_text,
        raw_questions_have_operators,
        every_mode_answers,
        answers_are_stable,
        strangers_find_nothing,
    }
}
