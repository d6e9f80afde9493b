//! Mistakes that people make in an `events.toml`, each as edits of one valid file.

use crate::SMALL;

/// One mistake.
pub(crate) struct Mistake {
    /// The rule that it breaks; names the snapshot of its message.
    pub(crate) rule: &'static str,
    /// The old and the new text. The first occurrence is replaced; it must exist.
    pub(crate) edits: &'static [(&'static str, &'static str)],
    /// Whether the JSON Schema sees it too. It cannot compare one part of the file with another.
    pub(crate) in_schema: bool,
}

impl Mistake {
    /// The file with the mistake in it.
    pub(crate) fn text(&self) -> String {
        let mut text = SMALL.to_string();
        for (from, to) in self.edits {
            assert!(text.contains(from), "{}: the valid file does not have {from:?}", self.rule);
            text = text.replacen(from, to, 1);
        }
        text
    }
}

/// A mistake that the JSON Schema sees too.
const fn form(rule: &'static str, edits: &'static [(&'static str, &'static str)]) -> Mistake {
    Mistake { rule, edits, in_schema: true }
}

/// A mistake that only the rules see.
const fn meaning(rule: &'static str, edits: &'static [(&'static str, &'static str)]) -> Mistake {
    Mistake { rule, edits, in_schema: false }
}

const EVENT: &str = "[[event]]\nname = \"PoolInit\"\n";
const LABEL: &str = "sort = \"S\", max = 64";
const UNIT: &str = "unit = \"bytes\"";
const WHY: &str = "{ name = \"why\", sort = \"Why\", doc = \"what asked for it\" }";

/// The mistakes, each of which makes exactly one error.
pub(crate) const MISTAKES: &[Mistake] = &[
    // Keys and their types.
    form(
        "missing_registry",
        &[(
            "[registry]\nname = \"gc\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"A small collector's view of itself\"\n",
            "",
        )],
    ),
    form(
        "missing_kinds",
        &[(
            "[kinds]\nPool = { bit = 1, doc = \"per pool\" }\nTrace = { bit = 2, doc = \"per trace or scan\" }\n",
            "",
        )],
    ),
    form("missing_code", &[("code = 0x0001\n", "")]),
    form("missing_name", &[("name = \"PoolInit\"\n", "")]),
    form("sort_and_type", &[("sort = \"Access\"", "sort = \"Access\", type = \"Access\"")]),
    form("unknown_type_by_alias", &[("sort = \"[u32]\", max = 8", "type = \"float\"")]),
    form("missing_sort", &[(", sort = \"Access\"", "")]),
    form("missing_version_part", &[(", minor = 0", "")]),
    form("missing_value", &[("{ value = 2, doc", "{ doc")]),
    form("missing_doc", &[("doc = \"A pool was made\"\n", "")]),
    form("unknown_key_of_file", &[("[[span]]", "[[events]]")]),
    form("unknown_key_near", &[("code = 0x0001", "code = 0x0001\nallways = false")]),
    form("unknown_key_far", &[("unit = \"bytes\"", "flavor = \"red\"")]),
    form("wrong_type_text", &[("name = \"PoolInit\"", "name = 12")]),
    form("wrong_type_integer", &[("code = 0x0001", "code = \"0x0001\"")]),
    form("wrong_type_bool", &[("used = false", "used = 0")]),
    form("wrong_type_version", &[("{ major = 1, median = 0, minor = 0 }", "[1, 0, 0]")]),
    form("version_as_integer", &[("{ major = 1, median = 0, minor = 0 }", "1")]),
    form("version_as_float", &[("{ major = 1, median = 0, minor = 0 }", "1.2")]),
    form("version_too_short", &[("{ major = 1, median = 0, minor = 0 }", "\"1.2\"")]),
    form("version_too_long", &[("{ major = 1, median = 0, minor = 0 }", "\"1.2.3.4\"")]),
    form("version_with_letter", &[("{ major = 1, median = 0, minor = 0 }", "\"v1.2.0\"")]),
    form("version_with_zeros", &[("{ major = 1, median = 0, minor = 0 }", "'1.02.0'")]),
    form("version_with_suffix", &[("{ major = 1, median = 0, minor = 0 }", "\"1.2.0-beta.1\"")]),
    form("version_empty", &[("{ major = 1, median = 0, minor = 0 }", "\"\"")]),
    meaning("version_too_high", &[("{ major = 1, median = 0, minor = 0 }", "\"1.4294967296.0\"")]),
    form(
        "wrong_type_event",
        &[
            (EVENT, "[event]\nname = \"PoolInit\"\n"),
            ("[[event]]\nname = \"TraceStart\"", "[event.x]\nname = \"TraceStart\""),
            ("[[event]]\nname = \"TraceEnd\"", "[event.y]\nname = \"TraceEnd\""),
            ("[[event]]\nname = \"TraceFlip\"", "[event.z]\nname = \"TraceFlip\""),
        ],
    ),
    form("wrong_type_param", &[(WHY, "\"why\"")]),
    form("wrong_type_kind", &[("Pool = { bit = 1, doc = \"per pool\" }", "Pool = 1")]),
    form(
        "wrong_type_type",
        &[(
            "[types.Access]\nrepr = \"u16\"\nflags = true\nvalues = { Read = 1, Write = 2 }",
            "[types]\nAccess = \"u16\"",
        )],
    ),
    form("wrong_type_value", &[("Request = 1", "Request = \"one\"")]),
    // Ranges.
    form("version_out_of_range", &[("major = 1", "major = -1")]),
    form("bit_out_of_range", &[("bit = 2", "bit = 64")]),
    form("code_out_of_range", &[("0x0001", "0x1_0000")]),
    form("code_far_out_of_range", &[("0x0001", "0xffffffffffffffffffffffffffffffffffffffff")]),
    form("max_out_of_range", &[("max = 64", "max = 16385")]),
    form("max_elements_out_of_range", &[("max = 8", "max = 0")]),
    // Names.
    form("event_not_camel_case", &[("name = \"PoolInit\"", "name = \"pool_init\"")]),
    form("event_not_a_name", &[("name = \"PoolInit\"", "name = \"2 pools\\u001b[2J\"")]),
    form("kind_not_camel_case", &[("Pool = {", "pool = {")]),
    form("type_not_camel_case", &[("[types.Access]", "[types.access]")]),
    form("value_not_camel_case", &[("Request = 1", "REQUEST-X = 1")]),
    form("span_not_camel_case", &[("name = \"Trace\"\nbegin", "name = \"trace\"\nbegin")]),
    form("registry_not_snake_case", &[("name = \"gc\"", "name = \"MyGc\"")]),
    form("param_not_snake_case", &[("name = \"condemned\"", "name = \"condemnedSize\"")]),
    form("param_with_loose_underscore", &[("name = \"condemned\"", "name = \"condemned_\"")]),
    form(
        "name_too_long",
        &[(
            "name = \"PoolInit\"",
            "name = \"PoolInitializationOfThePoolThatHoldsAllTheObjectsOfTheNurseryAndMore\"",
        )],
    ),
    meaning("param_is_rust_keyword", &[("name = \"why\"", "name = \"type\"")]),
    meaning("param_is_python_keyword", &[("name = \"why\"", "name = \"from\"")]),
    meaning("param_is_keyword_of_both", &[("name = \"why\"", "name = \"yield\"")]),
    meaning("registry_is_keyword", &[("name = \"gc\"", "name = \"crate\"")]),
    meaning("value_is_keyword", &[("Request = 1", "None = 1")]),
    meaning("event_is_keyword", &[("name = \"PoolInit\"", "name = \"Self\"")]),
    meaning("emitter_is_keyword", &[("name = \"PoolInit\"", "name = \"Loop\"")]),
    meaning("event_reserved", &[("name = \"PoolInit\"", "name = \"Event\"")]),
    meaning(
        "kind_is_control_word",
        &[(
            "Pool = { bit = 1, doc = \"per pool\" }",
            "Pool = { bit = 1, doc = \"per pool\" }\nAll = { bit = 3, doc = \"everything\" }",
        )],
    ),
    form("registry_reserved", &[("name = \"gc\"", "name = \"telemetry\"")]),
    meaning("duplicate_event", &[("name = \"TraceFlip\"", "name = \"PoolInit\"")]),
    meaning("one_emitter_twice", &[("name = \"TraceFlip\"", "name = \"POOLInit\"")]),
    meaning("event_and_kind_of_one_name", &[("name = \"TraceFlip\"", "name = \"Pool\"")]),
    meaning("event_and_type_of_one_name", &[("name = \"TraceFlip\"", "name = \"Access\"")]),
    meaning(
        "type_differs_only_in_case",
        &[("[types.Access]", "[types.TRACE]\nrepr = \"u8\"\nvalues = { A = 1 }\n[types.Access]")],
    ),
    meaning("duplicate_param", &[("name = \"why\"", "name = \"trace\"")]),
    meaning(
        "duplicate_span",
        &[(
            "[[span]]",
            "[[span]]\nname = \"Trace\"\nbegin = \"TraceEnd\"\nend = \"TraceStart\"\ndoc = \"Between traces\"\n[[span]]",
        )],
    ),
    form(
        "type_is_letter_of_sort",
        &[("[types.Access]", "[types.W]\nrepr = \"u8\"\nvalues = { A = 1 }\n[types.Access]")],
    ),
    // Kinds.
    meaning("duplicate_bit", &[("bit = 2", "bit = 1")]),
    form(
        "no_kinds",
        &[("Pool = { bit = 1, doc = \"per pool\" }\nTrace = { bit = 2, doc = \"per trace or scan\" }\n", "")],
    ),
    form("unknown_clock", &[("doc = \"per pool\"", "doc = \"per pool\", clock = \"fast\"")]),
    meaning("unknown_kind_near", &[("kind = \"Pool\"", "kind = \"Pol\"")]),
    meaning(
        "unknown_kind_far",
        &[("kind = \"Trace\"", "kind = \"Segment\""), ("kind = \"Trace\"", "kind = \"Segment\"")],
    ),
    // Events.
    meaning("duplicate_code", &[("0x0011", "1")]),
    meaning(
        "event_too_large",
        &[("sort = \"Why\", doc = \"what asked for it\"", "sort = \"[u64]\", max = 4096")],
    ),
    form("empty_doc", &[("\"A pool was made\"", "\" \"")]),
    form("empty_optional_doc", &[("\"the pool\"", "\"\"")]),
    form("control_character_in_doc", &[("\"the pool\"", "\"the \\u001b[31mpool\"")]),
    // Replays.
    form("wrong_type_replay", &[("code = 0x0011", "code = 0x0011\nreplay = \"alloc\"")]),
    form("replay_without_action", &[("code = 0x0011", "code = 0x0011\nreplay = { pointer = \"trace\" }")]),
    form(
        "unknown_action_near",
        &[("code = 0x0011", "code = 0x0011\nreplay = { action = \"aloc\", pointer = \"trace\" }")],
    ),
    form("unknown_action_far", &[("code = 0x0011", "code = 0x0011\nreplay = { action = \"copy\" }")]),
    form(
        "missing_role",
        &[("code = 0x0011", "code = 0x0011\nreplay = { action = \"alloc\", pointer = \"trace\" }")],
    ),
    form(
        "unknown_role",
        &[(
            "code = 0x0011",
            "code = 0x0011\nreplay = { action = \"free\", pointer = \"trace\", siz = \"condemned\" }",
        )],
    ),
    form(
        "role_of_another_action",
        &[(
            "code = 0x0011",
            "code = 0x0011\nreplay = { action = \"free\", pointer = \"trace\", old = \"trace\" }",
        )],
    ),
    form(
        "role_of_no_action",
        &[("code = 0x0011", "code = 0x0011\nreplay = { action = \"custom\", pointer = \"trace\" }")],
    ),
    meaning(
        "role_of_unknown_param_near",
        &[("code = 0x0011", "code = 0x0011\nreplay = { action = \"free\", pointer = \"tracer\" }")],
    ),
    meaning(
        "role_of_unknown_param_far",
        &[("code = 0x0011", "code = 0x0011\nreplay = { action = \"free\", pointer = \"block\" }")],
    ),
    meaning(
        "role_of_another_sort",
        &[("code = 0x0011", "code = 0x0011\nreplay = { action = \"free\", pointer = \"condemned\" }")],
    ),
    meaning(
        "role_of_array",
        &[(
            "code = 0x0012",
            "code = 0x0012\nreplay = { action = \"free\", pointer = \"trace\", size = \"ranks\" }",
        )],
    ),
    meaning(
        "role_in_another_unit",
        &[
            (
                "code = 0x0011",
                "code = 0x0011\nreplay = { action = \"free\", pointer = \"trace\", size = \"condemned\" }",
            ),
            ("unit = \"bytes\"", "unit = \"pages\""),
        ],
    ),
    meaning(
        "param_of_two_roles",
        &[(
            "code = 0x0011",
            "code = 0x0011\nreplay = { action = \"realloc\", old = \"trace\", pointer = \"trace\", size = \"condemned\" }",
        )],
    ),
    // Names.
    form("wrong_type_names", &[(LABEL, "sort = \"S\", max = 64, names = 1")]),
    form("names_of_another_spelling", &[(LABEL, "sort = \"S\", max = 64, names = \"The Pool\"")]),
    meaning("names_no_param_near", &[(LABEL, "sort = \"S\", max = 64, names = \"pol\"")]),
    meaning("names_no_param_far", &[(LABEL, "sort = \"S\", max = 64, names = \"trace\"")]),
    meaning("names_itself", &[(LABEL, "sort = \"S\", max = 64, names = \"label\"")]),
    meaning("names_another_sort", &[(LABEL, "sort = \"S\", max = 64, names = \"access\"")]),
    meaning(
        "names_an_array",
        &[(
            "name = \"trace\", sort = \"P\" },\n  { name = \"ranks",
            "name = \"trace\", sort = \"P\", names = \"ranks\" },\n  { name = \"ranks",
        )],
    ),
    meaning(
        "names_a_number_by_no_string",
        &[("sort = \"P\" },\n  { name = \"why", "sort = \"P\", names = \"condemned\" },\n  { name = \"why")],
    ),
    form("numbers_of_a_string", &[(LABEL, "sort = \"S\", max = 64, numbers = \"label\"")]),
    form("numbers_of_another_spelling", &[("sort = \"Access\"", "sort = \"u16\", numbers = \"An Id\"")]),
    meaning("numbers_no_event_tells", &[("sort = \"Access\"", "sort = \"u16\", numbers = \"label\"")]),
    meaning("time_no_param", &[("code = 0x0001", "code = 0x0001\ntime = \"moment\"")]),
    meaning("time_of_another_sort", &[("code = 0x0011", "code = 0x0011\ntime = \"trace\"")]),
    form("time_of_another_spelling", &[("code = 0x0001", "code = 0x0001\ntime = \"The Moment\"")]),
    form("names_by_an_array", &[("max = 8", "max = 8, names = \"trace\"")]),
    form("names_by_flags", &[("sort = \"Access\"", "sort = \"Access\", names = \"pool\"")]),
    meaning(
        "named_twice",
        &[(LABEL, "sort = \"S\", names = \"pool\" }, { name = \"number\", sort = \"W\", names = \"pool\"")],
    ),
    // Types.
    form("unknown_repr", &[("repr = \"u8\"", "repr = \"f32\"")]),
    form("signed_flags", &[("repr = \"u16\"", "repr = \"i16\"")]),
    form("no_values", &[("{ Read = 1, Write = 2 }", "{}")]),
    meaning("value_out_of_range", &[("Request = 1", "Request = 256")]),
    meaning("described_value_out_of_range", &[("value = 2", "value = -1")]),
    meaning("duplicate_number", &[("value = 2", "value = 1")]),
    meaning("values_differ_only_in_case", &[("Full =", "REQUEST =")]),
    form("empty_flag", &[("Read = 1", "Read = 0")]),
    // Parameters.
    form("padded_sort", &[("sort = \"[u32]\", max = 8", "sort = \" u32\"")]),
    form("unknown_sort", &[("sort = \"[u32]\", max = 8", "sort = \"float\"")]),
    meaning("unknown_sort_near", &[("sort = \"Why\"", "sort = \"Wy\"")]),
    meaning("unknown_type", &[("sort = \"Why\"", "sort = \"Reason\"")]),
    form("array_of_strings", &[("sort = \"[u32]\"", "sort = \"[string]\"")]),
    form("array_of_arrays", &[("sort = \"[u32]\"", "sort = \"[[u32]; 4]\"")]),
    form("array_without_end", &[("sort = \"[u32]\"", "sort = \"[u32\"")]),
    form("array_of_no_elements", &[("sort = \"[u32]\", max = 8", "sort = \"[u32; 0]\"")]),
    form("max_without_use", &[("sort = \"Access\"", "sort = \"Access\", max = 3")]),
    form("max_on_fixed_array", &[("sort = \"[u32]\"", "sort = \"[u32; 8]\"")]),
    form("align_without_address", &[("sort = \"S\", max = 64", "sort = \"S\", align = 8")]),
    form("align_not_a_power", &[(UNIT, "align = 24")]),
    form("align_of_nothing", &[(UNIT, "align = 0")]),
    form("wrong_type_align", &[(UNIT, "align = \"8\"")]),
    form("unit_without_number", &[("sort = \"S\", max = 64", "sort = \"S\", unit = \"bytes\"")]),
    form("unit_not_a_word", &[("unit = \"bytes\"", "unit = \"thousands of bytes\"")]),
    // Appended parameters.
    form("since_not_a_version", &[(UNIT, "unit = \"bytes\", since = \"1.0\"")]),
    form("since_with_zeros", &[(UNIT, "unit = \"bytes\", since = \"1.00.0\"")]),
    form("wrong_type_since", &[(UNIT, "unit = \"bytes\", since = { major = 1 }")]),
    meaning("since_above_version", &[(UNIT, "unit = \"bytes\", since = \"1.1.0\"")]),
    meaning("since_of_older_major", &[(UNIT, "unit = \"bytes\", since = \"0.9.0\"")]),
    meaning("no_since_behind_appended", &[("\"the pool\"", "\"the pool\", since = \"1.0.0\"")]),
    meaning(
        "since_below_that_before",
        &[
            ("minor = 0", "minor = 7"),
            ("doc = \"what asked for it\"", "since = \"1.0.5\""),
            (UNIT, "unit = \"bytes\", since = \"1.0.4\""),
        ],
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
    meaning("span_of_unknown_event", &[("end = \"TraceEnd\"", "end = \"TraceEnds\"")]),
    meaning("span_of_retired_event", &[("end = \"TraceEnd\"", "end = \"TraceFlip\"")]),
    meaning("span_of_one_event", &[("end = \"TraceEnd\"", "end = \"TraceStart\"")]),
    meaning("span_key_not_in_both", &[("key = \"trace\"", "key = \"condemned\"")]),
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
