//! The scenarios, and what each needs.

pub mod conditions;
pub mod faults;
pub mod hooks;
pub mod languages;
pub mod messages;
pub mod records;
pub mod scopes;
pub mod scripts;
pub mod searching;
pub mod together;
pub mod tools;
pub mod writing;

use futures::future::BoxFuture;

use crate::{Need, Subject, Trial, report};

/// One thing that a provider fulfils.
pub struct Scenario {
    /// Its name: `module::function`.
    pub name: &'static str,
    /// What a provider must have for it. One that needs nothing but to write and to search is for all.
    pub needs: &'static [Need],
    pub(crate) run: for<'a> fn(&'a Trial) -> BoxFuture<'a, ()>,
}

/// Gives the list of scenarios to another macro of this crate. It is written down here and nowhere else.
#[doc(hidden)]
#[macro_export]
macro_rules! with_scenarios {
    ($then:ident $($argument:tt)*) => {
        $crate::$then! {
            $($argument)*
            writing {
                a_write_is_readable_at_once [Write, Search, Get],
                every_field_is_kept [Write, Search, Get, Fields],
                titles_and_keywords_are_found [Write, Search, Fields, FieldSearch],
                a_batch_is_answered_in_order [Write, Get],
                an_empty_text_is_refused_alone [Write, Search],
                texts_have_a_greatest_length [Write, TextLimit],
                batches_have_a_greatest_size [Write, Search, BatchLimit],
                what_is_repeated_is_written_once [Write, Search, Idempotence],
                the_same_text_is_one_memory [Write, Duplicates],
                near_duplicates_are_known_and_differences_kept [Write, NearDuplicates],
                what_was_forgotten_stays_forgotten [Write, Search, Delete, Tombstones],
                a_foreign_id_is_one_memory [Write, Search, Get, ForeignIds],
                secrets_are_taken_out [Write, Get, Secrets],
                a_bad_item_is_refused_alone [Write, Get, TextLimit, FieldChecks],
            }
            scripts {
                texts_come_back_unchanged [Write, Get],
                texts_are_found_by_themselves [Write, Search],
                fields_come_back_unchanged [Write, Get, Fields],
                every_script_is_kept [Write, Search, Get, Ranking],
            }
            messages {
                messages_are_kept_verbatim [Write, Messages, List, Transcripts],
                messages_are_once_by_id_and_never_by_content [Write, Messages, List, Transcripts],
                messages_are_kept_apart [Search, Get, Messages, List],
                a_message_can_be_forgotten [Messages, List, Delete, Transcripts],
                what_was_said_is_recalled [Search, Turns, TurnRecall],
                a_repeated_turn_is_taken_once [Search, Turns, Idempotence],
                a_turn_is_kept_without_recalled_text [Search, List, Turns, Transcripts],
                a_turn_without_session_is_in_the_default_one [List, Turns, Transcripts],
                a_session_narrows_messages [Write, Search, Messages, MessageSearch],
                neighbours_and_sessions [Write, Search, Messages, MessageSearch],
                prefetch_recalls_for_a_prompt [Write, Search],
            }
            records {
                ids_name_items [Write, Get],
                prefixes_name_items [Write, Get, Prefixes],
                wrong_ids_are_refused [Get, StrictIds],
                an_update_changes_the_text [Write, Search, Get, Update],
                an_update_changes_what_it_names [Write, Search, Get, Update, Fields],
                an_update_of_an_old_state_is_a_conflict [Write, Get, Update, Revisions],
                history_keeps_former_states [Write, Update, History],
                forgetting_takes_out_of_every_read [Write, Search, Get, List, Delete],
                erasing_takes_out_of_every_read [Write, Search, Get, Delete, Erase],
                pages_hold_everything_once [Write, List],
                lists_have_conditions [Write, List, Fields],
            }
            searching {
                an_empty_answer_says_why [Write, Search, EmptyReasons],
                an_empty_answer_is_no_error [Search],
                an_answer_keeps_its_limits [Write, Search],
                hostile_questions_do_no_harm [Write, Search],
                hostile_questions_are_plain_text [Write, Search, Ranking],
                raw_questions_have_operators [Write, Search, RawQueries],
                every_mode_answers [Write, Search, Modes],
                answers_are_stable [Write, Search, Ranking],
            }
            conditions {
                categories_and_labels_hold [Write, Search, Fields],
                times_hold [Write, Search, Times, Fields],
                filters_hold [Write, Search, Filters, Fields],
                conditions_hold_together [Write, Search, Filters, Times, Fields],
                conditions_are_honoured_or_refused [Write, Search],
            }
            languages {
                questions_in_chinese_japanese_and_korean [Write, Search, Ranking],
                identifiers_are_found [Write, Search, Ranking],
                times_in_a_question_are_soft_evidence [Write, Search, Fields, TimeExpressions],
            }
            scopes {
                strangers_find_nothing [Write, Search],
                similar_names_are_different_users [Write, Search],
                owners_are_kept_apart [Write, Search],
                only_leaders_change_a_team [Write, Search],
                impossible_names_are_refused [Write, Search],
            }
            together {
                many_write_and_search_at_once [Write, Search],
                the_same_text_at_once_is_one_memory [Write, Duplicates],
                changes_at_once_leave_one_whole [Write, Search, Get, Update],
                calls_that_are_dropped_do_no_harm [Write, Search],
            }
            tools {
                definitions_are_json_schemas [Tools],
                an_unknown_tool_is_not_found [],
                wrong_arguments_are_refused [Tools],
                tools_keep_users_apart [Write, Search, Tools],
                it_introduces_itself [],
            }
            hooks {
                it_may_be_initialised_again [Write, Search],
                a_session_may_end_without_turns [Search],
                a_conversation_goes_through [Turns],
                health_is_well [],
                calls_after_shutdown_do_no_harm [Write],
                what_is_not_offered_is_refused [Write],
            }
            faults {
                failures_have_their_kind [Write, Search, Faults],
                a_hang_is_given_up_in_time [Write, Search, Faults],
                health_tells_the_truth [Faults],
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! scenario_table {
    ($($module:ident { $($name:ident [$($need:ident),*],)+ })+) => {
        &[$($(
            Scenario {
                name: concat!(stringify!($module), "::", stringify!($name)),
                needs: &[$(Need::$need),*],
                run: |trial| Box::pin($module::$name(trial)),
            },
        )+)+]
    };
}

/// Every scenario.
pub const SCENARIOS: &[Scenario] = with_scenarios!(scenario_table);

/// Makes each scenario a test over a subject, and one more of what the subject says of itself. The crate needs `tokio`.
#[macro_export]
macro_rules! conformance {
    ($subject:expr) => {
        #[tokio::test(flavor = "multi_thread")]
        async fn it_is_what_it_says() {
            $crate::it_is_what_it_says(&$subject).await;
        }

        $crate::with_scenarios!(scenario_tests($subject));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! scenario_tests {
    (($subject:expr) $($module:ident { $($name:ident $needs:tt,)+ })+) => {
        $(mod $module {
            use super::*;

            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                $crate::test(&$subject, concat!(stringify!($module), "::", stringify!($name))).await;
            })+
        })+
    };
}

/// Runs one scenario over a subject; what [`conformance!`] calls.
pub async fn test(subject: &dyn Subject, name: &str) {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).expect("the table has every scenario");
    scenario.run_over(subject).await.expect(&subject.name(), name);
}

/// Checks that a subject lacks what its capability denies and nothing else; what [`conformance!`] calls.
pub async fn it_is_what_it_says(subject: &dyn Subject) {
    report::declaration(subject).await.expect(&subject.name(), "it is what it says");
}
