//! Mistakes in keys, ranges, names and kinds.

use super::{EVENT, Mistake, WHY, form, meaning};

pub(super) const KEYS: &[Mistake] = &[
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
    form("missing_version", &[("version = { major = 1, median = 0, minor = 0 }\n", "")]),
    form(
        "missing_values",
        &[("values = { Request = 1, Full = { value = 2, doc = \"no room left\" } }\n", "")],
    ),
    form("wrong_type_allow", &[("[registry]", "allow = 1\n[registry]")]),
    form("wrong_type_sample", &[("code = 0x0011", "code = 0x0011\nsample = 100")]),
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
    form("unknown_network", &[("doc = \"per pool\"", "doc = \"per pool\", network = \"deny\"")]),
    form("unknown_clock", &[("doc = \"per pool\"", "doc = \"per pool\", clock = \"fast\"")]),
    meaning("unknown_kind_near", &[("kind = \"Pool\"", "kind = \"Pol\"")]),
    meaning(
        "unknown_kind_far",
        &[("kind = \"Trace\"", "kind = \"Segment\""), ("kind = \"Trace\"", "kind = \"Segment\"")],
    ),
];
