//! Mistakes in events, their marks and names, types and parameters.

use super::{LABEL, Mistake, UNIT, form, meaning};

pub(super) const EVENTS: &[Mistake] = &[
    // Events.
    meaning("duplicate_code", &[("0x0011", "1")]),
    meaning(
        "event_too_large",
        &[("sort = \"Why\", doc = \"what asked for it\"", "sort = \"[u64]\", max = 4096")],
    ),
    form("empty_doc", &[("\"A pool was made\"", "\" \"")]),
    form("empty_optional_doc", &[("\"the pool\"", "\"\"")]),
    form("control_character_in_doc", &[("\"the pool\"", "\"the \\u001b[31mpool\"")]),
    // Marks of `tracing`.
    form("wrong_type_tracing", &[("code = 0x0011", "code = 0x0011\ntracing = \"collect\"")]),
    form("tracing_without_target", &[("code = 0x0011", "code = 0x0011\ntracing = { name = \"collect\" }")]),
    form(
        "empty_target",
        &[("code = 0x0011", "code = 0x0011\ntracing = { target = \"\", name = \"collect\" }")],
    ),
    form(
        "unknown_moment",
        &[(
            "code = 0x0011",
            "code = 0x0011\ntracing = { target = \"gc\", name = \"collect\", at = \"enter\" }",
        )],
    ),
    meaning(
        "tracing_with_array",
        &[("code = 0x0012", "code = 0x0012\ntracing = { target = \"gc\", name = \"collect\" }")],
    ),
    meaning(
        "two_of_one_mark",
        &[
            ("code = 0x0001", "code = 0x0001\ntracing = { target = \"gc\", name = \"collect\" }"),
            ("code = 0x0011", "code = 0x0011\ntracing = { target = \"gc\", name = \"collect\" }"),
        ],
    ),
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
    // Ranges and censuses.
    form("wrong_type_range", &[("code = 0x0011", "code = 0x0011\nrange = \"begin\"")]),
    form("range_without_action", &[("code = 0x0011", "code = 0x0011\nrange = { key = \"trace\" }")]),
    form(
        "range_with_two_actions",
        &[("code = 0x0011", "code = 0x0011\nrange = { begin = \"run\", end = \"run\", key = \"trace\" }")],
    ),
    form(
        "range_of_another_spelling",
        &[("code = 0x0011", "code = 0x0011\nrange = { begin = \"Run\", key = \"trace\" }")],
    ),
    meaning("range_without_place", &[("code = 0x0011", "code = 0x0011\nrange = { begin = \"run\" }")]),
    form(
        "range_with_wrong_key",
        &[(
            "code = 0x0011",
            "code = 0x0011\nrange = { end = \"run\", key = \"trace\", owner = \"condemned\" }",
        )],
    ),
    meaning(
        "range_of_unknown_param",
        &[("code = 0x0011", "code = 0x0011\nrange = { begin = \"run\", key = \"tracer\" }")],
    ),
    meaning(
        "range_of_another_sort",
        &[(
            "code = 0x0011",
            "code = 0x0011\nrange = { begin = \"run\", base = \"condemned\", size = \"condemned\" }",
        )],
    ),
    meaning(
        "range_that_never_begins",
        &[("code = 0x0011", "code = 0x0011\nrange = { end = \"run\", key = \"trace\" }")],
    ),
    meaning(
        "range_size_of_an_array",
        &[(
            "code = 0x0012",
            "code = 0x0012\nrange = { begin = \"run\", base = \"trace\", size = \"ranks\" }",
        )],
    ),
    meaning(
        "range_moves_of_numbers",
        &[("code = 0x0012", "code = 0x0012\nrange = { move = \"run\", moves = \"ranks\" }")],
    ),
    meaning(
        "range_without_params",
        &[("params = [{ name = \"trace\", sort = \"P\" }]", "range = { begin = \"run\", key = \"trace\" }")],
    ),
    // Whether an unknown sort would be of the right type is not known.
    form(
        "range_of_an_unknown_sort",
        &[
            (
                "code = 0x0011",
                "code = 0x0011\nrange = { begin = \"run\", base = \"condemned\", size = \"condemned\" }",
            ),
            ("sort = \"W\"", "sort = \"Ward\""),
        ],
    ),
    meaning(
        "census_value_of_text",
        &[(
            "code = 0x0001",
            "code = 0x0001\ncensus = { row = \"heap\", class = \"access\", value = \"label\" }",
        )],
    ),
    meaning(
        "census_value_of_an_address",
        &[(
            "code = 0x0011",
            "code = 0x0011\ncensus = { row = \"heap\", class = \"why\", value = \"trace\" }",
        )],
    ),
    form("census_row_without_value", &[("code = 0x0011", "code = 0x0011\ncensus = { row = \"heap\" }")]),
    meaning(
        "census_that_never_begins",
        &[(
            "code = 0x0011",
            "code = 0x0011\ncensus = { row = \"heap\", class = \"trace\", value = \"condemned\" }",
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
    meaning(
        "numbers_whose_strings_are_of_pointers",
        &[
            (LABEL, "sort = \"S\", max = 64, names = \"pool\""),
            ("sort = \"Access\"", "sort = \"u16\", numbers = \"pool\""),
        ],
    ),
    meaning("numbers_no_event_tells", &[("sort = \"Access\"", "sort = \"u16\", numbers = \"label\"")]),
    form("unit_of_a_stack", &[("sort = \"Access\"", "sort = \"stack\", unit = \"bytes\"")]),
    form("sensitive_unknown", &[(LABEL, "sort = \"S\", max = 64, sensitive = \"private\"")]),
    form("usual_of_a_stack", &[("sort = \"Access\"", "sort = \"stack\", usual = 2")]),
    meaning("sensitive_stack", &[("sort = \"Access\"", "sort = \"stack\", sensitive = \"secret\"")]),
    form("role_unknown", &[("sort = \"Access\"", "sort = \"u32\", role = \"heap\"")]),
    form("role_of_another_sort", &[("sort = \"Access\"", "sort = \"u16\", role = \"stack\"")]),
    meaning("time_no_param", &[("code = 0x0001", "code = 0x0001\ntime = \"moment\"")]),
    meaning("time_of_another_sort", &[("code = 0x0011", "code = 0x0011\ntime = \"trace\"")]),
    form("time_of_another_spelling", &[("code = 0x0001", "code = 0x0001\ntime = \"The Moment\"")]),
    form("names_by_an_array", &[("max = 8", "max = 8, names = \"trace\"")]),
    form("names_by_flags", &[("sort = \"Access\"", "sort = \"Access\", names = \"pool\"")]),
    meaning(
        "named_twice",
        &[(LABEL, "sort = \"S\", names = \"pool\" }, { name = \"number\", sort = \"W\", names = \"pool\"")],
    ),
    // Limits.
    form("limit_of_nothing", &[("code = 0x0011", "code = 0x0011\nlimit = { per_second = 0, burst = 1 }")]),
    form("limit_without_rate", &[("code = 0x0011", "code = 0x0011\nlimit = { burst = 1 }")]),
    form(
        "limit_without_burst_at_once",
        &[("code = 0x0011", "code = 0x0011\nlimit = { per_second = 1, burst = 0 }")],
    ),
    form(
        "limit_above_the_clock",
        &[("code = 0x0011", "code = 0x0011\nlimit = { per_second = 1_000_000_001 }")],
    ),
    form(
        "limit_of_another_key",
        &[("code = 0x0011", "code = 0x0011\nlimit = { per_seconds = 10, per_second = 1 }")],
    ),
    form("wrong_type_limit", &[("code = 0x0011", "code = 0x0011\nlimit = 100")]),
    form("sample_of_all", &[("code = 0x0011", "code = 0x0011\nsample = { one_in = 1 }")]),
    form("sample_without_number", &[("code = 0x0011", "code = 0x0011\nsample = { by = \"trace\" }")]),
    meaning(
        "sample_by_no_param",
        &[("code = 0x0011", "code = 0x0011\nsample = { one_in = 10, by = \"trase\" }")],
    ),
    meaning(
        "sample_by_text",
        &[("code = 0x0001", "code = 0x0001\nsample = { one_in = 10, by = \"label\" }")],
    ),
    form(
        "limit_and_sample",
        &[("code = 0x0011", "code = 0x0011\nlimit = { per_second = 1 }\nsample = { one_in = 2 }")],
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
    form("usual_of_text", &[("sort = \"S\", max = 64", "sort = \"S\", usual = 2")]),
    form("usual_of_a_list", &[("sort = \"[u32]\", max = 8", "sort = \"[u32]\", usual = 2")]),
    form("usual_beyond_the_sort", &[("sort = \"Access\"", "sort = \"u16\", usual = 4")]),
    meaning("usual_beyond_the_type", &[("sort = \"Access\"", "sort = \"Access\", usual = 4")]),
    form("usual_of_nothing", &[(UNIT, "usual = 0")]),
    form("usual_too_long", &[(UNIT, "usual = 5")]),
    form("wrong_type_usual", &[(UNIT, "usual = \"2\"")]),
    form("wrong_type_align", &[(UNIT, "align = \"8\"")]),
    form("unit_without_number", &[("sort = \"S\", max = 64", "sort = \"S\", unit = \"bytes\"")]),
    form("unit_not_a_word", &[("unit = \"bytes\"", "unit = \"thousands of bytes\"")]),
    form("counter_of_text", &[("sort = \"S\", max = 64", "sort = \"S\", counter = true")]),
    form("counter_of_an_array", &[("sort = \"[u32]\", max = 8", "sort = \"[u32]\", counter = true")]),
    form("counter_of_an_enum", &[("sort = \"Why\"", "sort = \"Why\", counter = true")]),
    form("wrong_type_counter", &[(UNIT, "counter = \"bytes\"")]),
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
];
