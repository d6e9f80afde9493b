//! Mistakes in what leads from one entry to another: presets, messages, spans, and allows.

use super::{Mistake, WHY, form, meaning};

pub(super) const LINKS: &[Mistake] = &[
    // Presets.
    meaning("preset_unknown_word", &[("[types.Why]", "[presets]\ngc = \"Trase Pool\"\n[types.Why]")]),
    meaning("preset_foreign_word", &[("[types.Why]", "[presets]\ngc = \"Collections\"\n[types.Why]")]),
    meaning(
        "preset_of_retired_event",
        &[("[types.Why]", "[presets]\ngc = \"Trace -TraceFlip\"\n[types.Why]")],
    ),
    meaning("preset_with_name_of_kind", &[("[types.Why]", "[presets]\ntrace = \"Pool\"\n[types.Why]")]),
    meaning("preset_with_name_of_event", &[("[types.Why]", "[presets]\npoolinit = \"Pool\"\n[types.Why]")]),
    meaning("preset_in_preset", &[("[types.Why]", "[presets]\na = \"Pool\"\nb = \"A Trace\"\n[types.Why]")]),
    meaning("preset_without_event", &[("[types.Why]", "[presets]\ngc = \"-Pool\"\n[types.Why]")]),
    form("preset_name_all", &[("[types.Why]", "[presets]\nall = \"Pool\"\n[types.Why]")]),
    form("preset_name_style", &[("[types.Why]", "[presets]\nGc = \"Pool\"\n[types.Why]")]),
    form("preset_not_text", &[("[types.Why]", "[presets]\ngc = [\"Pool\"]\n[types.Why]")]),
    form("preset_with_bitmap", &[("[types.Why]", "[presets]\ngc = \"Pool 0x4\"\n[types.Why]")]),
    form("preset_with_registry", &[("[types.Why]", "[presets]\ngc = \"gc:Pool\"\n[types.Why]")]),
    // What a mistake leaves open is no mistake of its own.
    form("span_of_an_event_of_another_spelling", &[("name = \"TraceStart\"", "name = \"traceStart\"")]),
    meaning(
        "span_named_by_a_param_of_an_unsound_event",
        &[
            ("sort = \"Why\"", "sort = \"Whi\""),
            ("key = \"trace\"", "key = \"trace\"\nnamed_by = \"reason\""),
        ],
    ),
    // Rules.
    form(
        "rule_name_style",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"ends\"\nafter = \"TraceStart\"\ncomes = \"TraceEnd\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    form(
        "wrong_type_open",
        &[("[[span]]", "[[rule]]\nname = \"Ends\"\nat_most = 1\nopen = 3\ndoc = \"It ends\"\n[[span]]")],
    ),
    form("rule_without_form", &[("[[span]]", "[[rule]]\nname = \"Ends\"\ndoc = \"It ends\"\n[[span]]")]),
    form(
        "rule_of_two_forms",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceEnd\"\nat_most = 1\nopen = \"Trace\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    form(
        "rule_with_key_of_another_form",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nat_most = 1\nopen = \"Trace\"\nwithin = \"1 s\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    form(
        "rule_without_comes",
        &[("[[span]]", "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ndoc = \"It ends\"\n[[span]]")],
    ),
    form(
        "rule_without_doc",
        &[("[[span]]", "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceEnd\"\n[[span]]")],
    ),
    form(
        "rule_with_unknown_key",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncome = \"TraceEnd\"\ncomes = \"TraceEnd\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_of_unknown_event",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceEnds\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_of_retired_event",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceFlip\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_of_one_event",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceStart\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    form(
        "rule_within_without_unit",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceEnd\"\nwithin = \"10\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    form(
        "rule_within_number",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceEnd\"\nwithin = 10\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_of_unknown_span",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nnever = \"PoolInit\"\nopen = \"Tracing\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_of_event_as_span",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nnever = \"PoolInit\"\nopen = \"TraceStart\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_by_what_one_lacks",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nafter = \"TraceStart\"\ncomes = \"TraceEnd\"\nby = \"why\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_by_what_span_lacks",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nat_most = 1\nopen = \"Trace\"\nby = \"pool\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    form(
        "rule_at_most_none",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nat_most = 0\nopen = \"Trace\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    form(
        "rule_per_unknown",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nat_most = 1\nopen = \"Trace\"\nper = \"fiber\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    meaning(
        "rule_twice",
        &[(
            "[[span]]",
            "[[rule]]\nname = \"Ends\"\nat_most = 1\nopen = \"Trace\"\ndoc = \"It ends\"\n[[rule]]\nname = \"Ends\"\nat_most = 2\nopen = \"Trace\"\ndoc = \"It ends\"\n[[span]]",
        )],
    ),
    // Counters.
    form(
        "counter_of_unknown_form",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"Hits\"\ncode = 0x90\nkind = \"Pool\"\nform = \"gage\"\ndoc = \"Hits\"\n[[span]]",
        )],
    ),
    form(
        "counter_per_unknown",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"Hits\"\ncode = 0x90\nkind = \"Pool\"\nper = \"fiber\"\ndoc = \"Hits\"\n[[span]]",
        )],
    ),
    form(
        "counter_with_unknown_key",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"Hits\"\ncode = 0x90\nkind = \"Pool\"\nalways = false\ndoc = \"Hits\"\n[[span]]",
        )],
    ),
    meaning(
        "counter_with_a_taken_code",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"Hits\"\ncode = 0x11\nkind = \"Pool\"\ndoc = \"Hits\"\n[[span]]",
        )],
    ),
    meaning(
        "counter_of_unknown_kind",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"Hits\"\ncode = 0x90\nkind = \"Pol\"\ndoc = \"Hits\"\n[[span]]",
        )],
    ),
    meaning(
        "counter_with_the_name_of_an_event",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"PoolInit\"\ncode = 0x90\nkind = \"Pool\"\ndoc = \"Hits\"\n[[span]]",
        )],
    ),
    meaning(
        "counter_with_a_reserved_name",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"Tracing\"\ncode = 0x90\nkind = \"Pool\"\ndoc = \"Hits\"\n[[span]]",
        )],
    ),
    meaning(
        "span_of_a_counter",
        &[(
            "[[span]]",
            "[[counter]]\nname = \"Hits\"\ncode = 0x90\nkind = \"Pool\"\ndoc = \"Hits\"\n[[span]]\nname = \"Odd\"\nbegin = \"Hits\"\nend = \"TraceEnd\"\ndoc = \"Odd\"\n[[span]]",
        )],
    ),
    meaning(
        "event_that_counts_otherwise",
        &[(
            "[[span]]",
            "[[event]]\nname = \"Hits\"\ncode = 0x90\nkind = \"Pool\"\ndoc = \"Hits\"\ncounter = { form = \"gauge\" }\nparams = [{ name = \"value\", sort = \"u64\" }]\n[[span]]",
        )],
    ),
    // Messages.
    meaning(
        "message_of_unknown_event",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceEnds\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    meaning(
        "message_of_retired_event",
        &[("[[span]]", "[[message]]\nname = \"Gc\"\nbegin = \"TraceFlip\"\ndoc = \"Work\"\n[[span]]")],
    ),
    meaning(
        "message_of_one_event_twice",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceStart\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    meaning(
        "message_key_not_in_both",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceEnd\"\nkey = \"condemned\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    meaning(
        "message_key_not_in_any",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"PoolInit\"\nkey = \"trace\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    form(
        "message_key_without_end",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nkey = \"trace\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    form(
        "message_limit_without_key",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceEnd\"\nlimit = 4\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    form(
        "message_limit_of_zero",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceEnd\"\nkey = \"trace\"\nlimit = 0\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    form(
        "message_limit_too_high",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceEnd\"\nkey = \"trace\"\nlimit = 257\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    form(
        "message_without_begin",
        &[("[[span]]", "[[message]]\nname = \"Gc\"\nend = \"TraceEnd\"\ndoc = \"Work\"\n[[span]]")],
    ),
    form(
        "message_without_doc",
        &[("[[span]]", "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\n[[span]]")],
    ),
    form(
        "message_unknown_key",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nends = \"TraceEnd\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    meaning(
        "event_in_two_messages",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceEnd\"\ndoc = \"Work\"\n[[message]]\nname = \"Over\"\nbegin = \"TraceEnd\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    meaning(
        "duplicate_message",
        &[(
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceStart\"\nend = \"TraceEnd\"\ndoc = \"Work\"\n[[message]]\nname = \"Gc\"\nbegin = \"PoolInit\"\ndoc = \"Work\"\n[[span]]",
        )],
    ),
    form(
        "message_not_camel_case",
        &[("[[span]]", "[[message]]\nname = \"gc\"\nbegin = \"TraceStart\"\ndoc = \"Work\"\n[[span]]")],
    ),
    // Spans.
    form("span_with_a_pause_in_quotes", &[("key = \"trace\"", "key = \"trace\"\npause = \"true\"")]),
    meaning("span_of_unknown_event", &[("end = \"TraceEnd\"", "end = \"TraceEnds\"")]),
    meaning("span_of_retired_event", &[("end = \"TraceEnd\"", "end = \"TraceFlip\"")]),
    meaning("span_of_one_event", &[("end = \"TraceEnd\"", "end = \"TraceStart\"")]),
    meaning("span_key_not_in_both", &[("key = \"trace\"", "key = \"condemned\"")]),
    meaning("span_named_by_nothing", &[("key = \"trace\"", "key = \"trace\"\nnamed_by = \"what\"")]),
    meaning("span_named_by_a_number", &[("key = \"trace\"", "key = \"trace\"\nnamed_by = \"trace\"")]),
    meaning(
        "span_key_is_sensitive",
        &[("{ name = \"trace\", sort = \"P\"", "{ name = \"trace\", sort = \"P\", sensitive = \"secret\"")],
    ),
    meaning("span_key_without_choice", &[("end = \"TraceEnd\"", "end = \"PoolInit\"")]),
    meaning(
        "span_key_of_two_sorts",
        &[
            ("{ name = \"ranks\", sort = \"[u32]\", max = 8 }", "{ name = \"why\", sort = \"u8\" }"),
            ("key = \"trace\"", "key = \"why\""),
        ],
    ),
    meaning(
        "span_key_of_float",
        &[
            ("{ name = \"ranks\", sort = \"[u32]\", max = 8 }", "{ name = \"time\", sort = \"D\" }"),
            (WHY, "{ name = \"time\", sort = \"D\" }"),
            ("key = \"trace\"", "key = \"time\""),
        ],
    ),
    // Allows.
    form(
        "allow_without_change",
        &[("[[span]]", "[[allow]]\nevent = \"PoolInit\"\nreason = \"new\"\n[[span]]")],
    ),
    form(
        "allow_without_reason",
        &[("[[span]]", "[[allow]]\nchange = \"event-renamed\"\nevent = \"PoolInit\"\n[[span]]")],
    ),
    form(
        "allow_with_empty_reason",
        &[(
            "[[span]]",
            "[[allow]]\nchange = \"event-renamed\"\nevent = \"PoolInit\"\nreason = \" \"\n[[span]]",
        )],
    ),
    form(
        "allow_of_unknown_change_near",
        &[(
            "[[span]]",
            "[[allow]]\nchange = \"event-rename\"\nevent = \"PoolInit\"\nreason = \"new\"\n[[span]]",
        )],
    ),
    form(
        "allow_of_unknown_change_far",
        &[("[[span]]", "[[allow]]\nchange = \"anything\"\nevent = \"PoolInit\"\nreason = \"new\"\n[[span]]")],
    ),
    form(
        "allow_of_reused_code",
        &[(
            "[[span]]",
            "[[allow]]\nchange = \"code-reused\"\nevent = \"PoolInit\"\nreason = \"new\"\n[[span]]",
        )],
    ),
    form(
        "allow_of_lower_version",
        &[("[[span]]", "[[allow]]\nchange = \"version-lowered\"\nreason = \"new\"\n[[span]]")],
    ),
    form(
        "allow_of_docs",
        &[(
            "[[span]]",
            "[[allow]]\nchange = \"docs-changed\"\nevent = \"PoolInit\"\nreason = \"new\"\n[[span]]",
        )],
    ),
    form(
        "allow_of_parameter_without_event",
        &[("[[span]]", "[[allow]]\nchange = \"param-moved\"\nparam = \"pool\"\nreason = \"new\"\n[[span]]")],
    ),
    form(
        "allow_of_value_without_type",
        &[("[[span]]", "[[allow]]\nchange = \"value-added\"\nvalue = \"Full\"\nreason = \"new\"\n[[span]]")],
    ),
    meaning(
        "allow_of_two_things",
        &[(
            "[[span]]",
            "[[allow]]\nchange = \"event-added\"\nevent = \"PoolInit\"\nkind = \"Pool\"\nreason = \"new\"\n[[span]]",
        )],
    ),
    form(
        "allow_unknown_key",
        &[(
            "[[span]]",
            "[[allow]]\nchange = \"event-added\"\nevents = \"PoolInit\"\nreason = \"new\"\n[[span]]",
        )],
    ),
    form(
        "allow_of_a_number",
        &[("[[span]]", "[[allow]]\nchange = \"event-added\"\nevent = 3\nreason = \"new\"\n[[span]]")],
    ),
];
