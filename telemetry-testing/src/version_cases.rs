//! A change for every rule, as edits of one released registry, and the expected result.

/// The released registry, version 1.2.5.
pub const RELEASED: &str = include_str!("../released.toml");

/// The entry of an event that an older release had, and that is no longer in the registry.
pub const GONE: &str = "\n[[event]]\nname = \"Purged\"\ncode = 0x0009\nused = false\nkind = \"Evict\"\n\
                               doc = \"Of old\"\nparams = [{ name = \"entry\", sort = \"P\" }]\n";

/// A change of the registry.
pub struct Case {
    /// The change in a few words.
    pub name: &'static str,
    /// Pairs of old and new text. The first occurrence is replaced, and must exist.
    pub edits: &'static [(&'static str, &'static str)],
    /// Text that is added at the end.
    pub added: &'static str,
    /// The changes: rule, and the names of the item.
    pub changes: &'static [&'static str],
    /// The lowest version that meets the demands; with it, all but refused changes are correct.
    pub needed: &'static str,
}

impl Case {
    /// Returns the registry after the change, with its version as before.
    pub fn text(&self) -> String {
        let mut text = RELEASED.to_string();
        for (from, to) in self.edits {
            assert!(text.contains(from), "{}: the registry does not have {from:?}", self.name);
            text = text.replacen(from, to, 1);
        }
        text + self.added
    }
}

type Edits = &'static [(&'static str, &'static str)];

const fn nothing(name: &'static str, edits: Edits, changes: &'static [&'static str]) -> Case {
    Case { name, edits, added: "", changes, needed: "1.2.5" }
}

const fn minor(name: &'static str, edits: Edits, changes: &'static [&'static str]) -> Case {
    Case { name, edits, added: "", changes, needed: "1.2.6" }
}

const fn median(name: &'static str, edits: Edits, changes: &'static [&'static str]) -> Case {
    Case { name, edits, added: "", changes, needed: "1.3.0" }
}

const MISS: &str = "name = \"Miss\"\ncode = 0x0001";
const GROWN: &str = "[[event]]\nname = \"Grown\"\ncode = 0x0003\nkind = \"Evict\"\ndoc = \"The cache grew\"\n\
                     params = [{ name = \"entry\", sort = \"P\" }]\n";
const CLEARED: &str = "[[event]]\nname = \"Cleared\"\ncode = 0x0004\nused = false\nkind = \"Evict\"\n\
     doc = \"The cache was cleared\"\nparams = [{ name = \"entry\", sort = \"P\" }]\n";
const SPAN: &str = "[[span]]\nname = \"Growth\"\nbegin = \"Evicted\"\nend = \"Grown\"\nkey = \"entry\"\n\
                    doc = \"From the last eviction to the next growth\"\n";
const MESSAGE: &str = "[[message]]\nname = \"Growing\"\nbegin = \"Evicted\"\nend = \"Grown\"\nkey = \"entry\"\n\
                       limit = 4\ndoc = \"The cache is about to grow\"\n";
const KEY: &str = "{ name = \"key\", sort = \"string\", max = 80 },";
const HASH: &str = "{ name = \"hash\", sort = \"u64\", doc = \"hash of the key\" },";
const FULL: &str =
    "\n[[event]]\nname = \"Full\"\ncode = 0x0005\nkind = \"Evict\"\ndoc = \"No room is left\"\n";

/// Every rule has at least one case.
pub const CASES: &[Case] = &[
    nothing("nothing", &[], &[]),
    nothing("layout and a comment", &[("code = 0x0001", "code = 1 # one")], &[]),
    // Docs.
    nothing("the doc of the registry", &[("A cache's view", "The cache's view")], &["docs-changed"]),
    nothing("the doc of a kind", &[("per lookup", "for every lookup")], &["docs-changed Lookup"]),
    nothing("the doc of a type", &[("Why an entry", "What for an entry")], &["docs-changed Why"]),
    nothing("the doc of a value", &[("too old", "beyond its time")], &["docs-changed Why.Expired"]),
    nothing("the doc of an event", &[("and not found", "in vain")], &["docs-changed Miss"]),
    nothing("the doc of a parameter", &[("hash of the key", "its hash")], &["docs-changed Miss.hash"]),
    nothing("the doc of a span", &[("From the last", "From one")], &["docs-changed Growth"]),
    nothing("the doc of a message", &[("is about to", "will")], &["docs-changed Growing"]),
    // Events.
    Case { added: FULL, ..minor("a new event", &[], &["event-added Full"]) },
    minor(
        "an event retired",
        &[(MISS, "name = \"Miss\"\ncode = 0x0001\nused = false")],
        &["event-retired Miss"],
    ),
    minor("a retired event used again", &[("used = false\n", "")], &["event-restored Cleared"]),
    Case { added: GONE, ..minor("a row that was gone", &[], &["event-added Purged"]) },
    minor("always", &[("always = false", "always = true")], &["event-always-changed Miss"]),
    minor(
        "a mark for replayers",
        &[("code = 0x0001", "code = 0x0001\nreplay = { action = \"custom\" }")],
        &["event-replay-changed Miss"],
    ),
    minor(
        "a range",
        &[("code = 0x0001", "code = 0x0001\nrange = { begin = \"entry\", key = \"hash\" }")],
        &["event-range-changed Miss"],
    ),
    minor(
        "a census",
        &[("code = 0x0001", "code = 0x0001\ncensus = { begin = \"entries\" }")],
        &["event-census-changed Miss"],
    ),
    minor(
        "a moment that it tells of",
        &[("code = 0x0001", "code = 0x0001\ntime = \"hash\"")],
        &["event-time-changed Miss"],
    ),
    median(
        "another name, the same parameters",
        &[(MISS, "name = \"NotFound\"\ncode = 1")],
        &["event-renamed NotFound"],
    ),
    median(
        "a similar name, a parameter less",
        &[(MISS, "name = \"Missed\"\ncode = 1"), (KEY, "")],
        &["event-renamed Missed", "param-removed Miss.key"],
    ),
    median("another code", &[("code = 0x0001", "code = 0x0011")], &["event-recoded Miss"]),
    median(
        "a similar name and another code",
        &[
            ("name = \"Evicted\"\ncode = 0x0002", "name = \"Evictee\"\ncode = 0x0012"),
            ("begin = \"Evicted\"", "begin = \"Evictee\""),
            ("begin = \"Evicted\"", "begin = \"Evictee\""),
        ],
        &["event-renamed Evictee", "event-recoded Evictee"],
    ),
    median("another kind", &[("kind = \"Lookup\"", "kind = \"Evict\"")], &["event-kind-changed Miss"]),
    median("the row of a retired event is gone", &[(CLEARED, "")], &["event-forgotten Cleared"]),
    nothing(
        "an event is gone",
        &[(GROWN, ""), (SPAN, ""), (MESSAGE, "")],
        &["event-removed Grown", "span-removed Growth", "message-removed Growing"],
    )
    .minor(),
    Case {
        added: "\n[[event]]\nname = \"Full\"\ncode = 0x0009\nkind = \"Evict\"\ndoc = \"No room is left\"\n",
        ..nothing("the code of an event that is long gone", &[], &["code-reused Full"])
    },
    nothing(
        "the code of a retired event",
        &[("name = \"Cleared\"\ncode = 0x0004\nused = false", "name = \"Flushed\"\ncode = 0x0004")],
        &["code-reused Flushed"],
    ),
    nothing(
        "another event by the code of one",
        &[
            (MISS, "name = \"Started\"\ncode = 0x0001"),
            (HASH, "{ name = \"size\", sort = \"W\" },"),
            (KEY, ""),
        ],
        &["code-reused Started"],
    ),
    nothing(
        "two events with each other's codes",
        &[
            ("code = 0x0001", "code = 0x0003"),
            ("name = \"Grown\"\ncode = 0x0003", "name = \"Grown\"\ncode = 1"),
        ],
        &["code-reused Grown", "code-reused Miss"],
    ),
    median("a retired event of another name", &[("Cleared", "Clear")], &["event-renamed Clear"]),
    median(
        "the end of a span and of a message under another name",
        &[
            ("name = \"Grown\"", "name = \"Grows\""),
            ("end = \"Grown\"", "end = \"Grows\""),
            ("end = \"Grown\"", "end = \"Grows\""),
        ],
        &["event-renamed Grows"],
    ),
    // Parameters.
    minor(
        "a parameter appended",
        &[
            (
                "version = { major = 1, median = 2, minor = 5 }",
                "version = { major = 1, median = 2, minor = 6 }",
            ),
            (
                KEY,
                "{ name = \"key\", sort = \"string\", max = 80 },\n  { name = \"tries\", sort = \"u8\", since = \"1.2.6\" },",
            ),
        ],
        &["param-appended Miss.tries"],
    ),
    minor(
        "a parameter appended without since",
        &[(KEY, "{ name = \"key\", sort = \"string\", max = 80 },\n  { name = \"tries\", sort = \"u8\" },")],
        &["param-appended Miss.tries", "since-missing Miss.tries"],
    ),
    minor(
        "a parameter appended, since an older version",
        &[(
            KEY,
            "{ name = \"key\", sort = \"string\", max = 80 },\n  { name = \"tries\", sort = \"u8\", since = \"1.2.5\" },",
        )],
        &["param-appended Miss.tries", "since-wrong Miss.tries"],
    ),
    median(
        "since of an older version",
        &[("since = \"1.2.3\"", "since = \"1.2.4\"")],
        &["since-changed Evicted.age"],
    ),
    median("since taken away", &[(", since = \"1.2.3\"", "")], &["since-changed Evicted.age"]),
    median(
        "a parameter before another",
        &[(KEY, "{ name = \"tries\", sort = \"u8\" },\n  { name = \"key\", sort = \"string\", max = 80 },")],
        &["param-inserted Miss.tries"],
    ),
    median(
        "a parameter behind one of another sort",
        &[(KEY, "{ name = \"key\", sort = \"bytes\", max = 80 },\n  { name = \"tries\", sort = \"u8\" },")],
        &["param-retyped Miss.key", "param-inserted Miss.tries"],
    ),
    median("a parameter less", &[(KEY, "")], &["param-removed Miss.key"]),
    median(
        "a parameter moved to the front",
        &[
            ("  { name = \"why\", sort = \"Why\" },\n", ""),
            ("  { name = \"entry\"", "  { name = \"why\", sort = \"Why\" },\n  { name = \"entry\""),
        ],
        &["param-moved Evicted.why"],
    ),
    median(
        "a parameter renamed",
        &[("name = \"hash\"", "name = \"digest\"")],
        &["param-renamed Miss.digest"],
    ),
    median("another sort", &[("sort = \"u64\", doc", "sort = \"W\", doc")], &["param-retyped Miss.hash"]),
    median("another number of elements", &[("[u32; 4]", "[u32; 5]")], &["param-retyped Evicted.ranks"]),
    median("an array of any number", &[("[u32; 4]", "[u32]")], &["param-retyped Evicted.ranks"]),
    minor("another max", &[("max = 80", "max = 90")], &["max-changed Miss.key"]),
    nothing(
        "an alignment",
        &[("sort = \"P\", doc = \"the entry\"", "sort = \"P\", align = 16, doc = \"the entry\"")],
        &["align-changed Evicted.entry"],
    ),
    minor(
        "a unit",
        &[("sort = \"u64\", doc", "sort = \"u64\", unit = \"bits\", doc")],
        &["unit-given Miss.hash"],
    ),
    minor(
        "a counter",
        &[("unit = \"bytes\"", "unit = \"bytes\", counter = true")],
        &["counter-changed Evicted.size"],
    ),
    minor(
        "a sensitive parameter",
        &[("sort = \"u64\", doc", "sort = \"u64\", sensitive = \"secret\", doc")],
        &["sensitive-given Miss.hash"],
    ),
    median(
        "a parameter that is no longer sensitive",
        &[("access\", sort = \"Access\", sensitive = \"personal\"", "access\", sort = \"Access\"")],
        &["sensitive-changed Evicted.access"],
    ),
    median("a stack", &[("sort = \"u64\", doc", "sort = \"stack\", doc")], &["param-retyped Miss.hash"]),
    minor(
        "a parameter names another",
        &[(KEY, "{ name = \"key\", sort = \"string\", max = 80, names = \"hash\" },")],
        &["names-changed Miss.key"],
    ),
    minor(
        "numbers with strings",
        &[
            ("sort = \"u64\", doc", "sort = \"u64\", numbers = \"entry_hash\", doc"),
            (KEY, "{ name = \"key\", sort = \"string\", max = 80, names = \"hash\" },"),
        ],
        &["names-changed Miss.hash", "names-changed Miss.key"],
    ),
    median("another unit", &[("unit = \"bytes\"", "unit = \"KiB\"")], &["unit-changed Evicted.size"]),
    median("no unit", &[(", unit = \"bytes\"", "")], &["unit-changed Evicted.size"]),
    // Kinds.
    minor(
        "a new kind",
        &[("Rare = {", "Fill = { bit = 2, doc = \"per fill\" }\nRare = {")],
        &["kind-added Fill"],
    ),
    median(
        "a kind less",
        &[("Rare = { bit = 5, doc = \"what no event is of yet\" }\n", "")],
        &["kind-removed Rare"],
    ),
    median(
        "a kind renamed",
        &[("Lookup = {", "Find = {"), ("kind = \"Lookup\"", "kind = \"Find\"")],
        &["kind-renamed Find"],
    ),
    median("another bit", &[("bit = 5", "bit = 6")], &["kind-bit-changed Rare"]),
    median(
        "another clock",
        &[("doc = \"per lookup\"", "doc = \"per lookup\", clock = \"inherit\"")],
        &["kind-clock-changed Lookup"],
    ),
    // Types.
    minor(
        "a new type",
        &[("[types.Spare]", "[types.Extra]\nrepr = \"u8\"\nvalues = { A = 1 }\n\n[types.Spare]")],
        &["type-added Extra"],
    ),
    median(
        "a type less",
        &[("[types.Spare]\nrepr = \"u8\"\nvalues = { Some = 1 }\n", "")],
        &["type-removed Spare"],
    ),
    median(
        "a type renamed",
        &[("[types.Why]", "[types.Reason]"), ("sort = \"Why\"", "sort = \"Reason\"")],
        &["type-renamed Reason"],
    ),
    median(
        "two types renamed",
        &[
            ("[types.Why]", "[types.Reason]"),
            ("sort = \"Why\"", "sort = \"Reason\""),
            ("[types.Spare]", "[types.Rest]"),
        ],
        &["type-renamed Rest", "type-renamed Reason"],
    ),
    median("another repr", &[("repr = \"u16\"", "repr = \"u32\"")], &["type-repr-changed Access"]),
    median("flags no more", &[("flags = true\n", "")], &["type-form-changed Access"]),
    minor("a new value", &[("Asked = 3", "Asked = 3, Moved = 4")], &["value-added Why.Moved"]),
    median("a value less", &[(", Asked = 3", "")], &["value-removed Why.Asked"]),
    median("a value renamed", &[("Asked = 3", "Wanted = 3")], &["value-renamed Why.Wanted"]),
    median("another number", &[("Asked = 3", "Asked = 4")], &["value-renumbered Why.Asked"]),
    median(
        "two values with each other's numbers",
        &[("Full = 1", "Full = 3"), ("Asked = 3", "Asked = 1")],
        &["value-renumbered Why.Full", "value-renumbered Why.Asked"],
    ),
    // Spans.
    Case {
        added: "\n[[span]]\nname = \"Idle\"\nbegin = \"Grown\"\nend = \"Miss\"\ndoc = \"Nothing happens\"\n",
        ..minor("a new span", &[], &["span-added Idle"])
    },
    minor("a span less", &[(SPAN, "")], &["span-removed Growth"]),
    Case {
        edits: &[("churn = \"all\"", "churn = \"all\"\nmisses = \"Miss\"")],
        ..minor("a new preset", &[], &["preset-added misses"])
    },
    median("a preset less", &[("churn = \"all\"\n", "")], &["preset-removed churn"]),
    minor(
        "other words of a preset",
        &[("churn = \"all\"", "churn = \"all -Grown\"")],
        &["preset-changed churn"],
    ),
    minor("a span without its key", &[("key = \"entry\"\n", "")], &["span-changed Growth"]),
    minor(
        "a span that is named by a value",
        &[("key = \"entry\"\n", "key = \"entry\"\nnamed_by = \"why\"\n")],
        &["span-changed Growth"],
    ),
    minor(
        "a span that becomes a pause",
        &[("\ndoc = \"From the", "\npause = true\ndoc = \"From the")],
        &["span-changed Growth"],
    ),
    nothing(
        "a span that says that it is no pause",
        &[("\ndoc = \"From the", "\npause = false\ndoc = \"From the")],
        &[],
    ),
    // Messages.
    Case {
        added: "\n[[message]]\nname = \"Missing\"\nbegin = \"Miss\"\ndoc = \"Nothing was found\"\n",
        ..minor("a new message", &[], &["message-added Missing"])
    },
    minor("a message less", &[(MESSAGE, "")], &["message-removed Growing"]),
    minor("a message with another limit", &[("limit = 4", "limit = 5")], &["message-changed Growing"]),
    minor("a message without its key", &[("key = \"entry\"\nlimit = 4\n", "")], &["message-changed Growing"]),
    // The registry.
    nothing("a lower version", &[("minor = 5", "minor = 4")], &["version-lowered"]),
    nothing("another registry", &[("name = \"cache\"", "name = \"heap\"")], &["registry-renamed"]),
    // Several at once.
    Case {
        added: FULL,
        ..median(
            "a new event and another sort",
            &[("sort = \"u64\", doc", "sort = \"W\", doc")],
            &["param-retyped Miss.hash", "event-added Full"],
        )
    },
    Case {
        needed: "1.2.6",
        ..median(
            "everything of an event but its form",
            &[("always = false\n", ""), ("and not found", "in vain"), ("max = 80", "max = 90")],
            &["event-always-changed Miss", "docs-changed Miss", "max-changed Miss.key"],
        )
    },
];

impl Case {
    const fn minor(self) -> Case {
        Case { needed: "1.2.6", ..self }
    }
}
