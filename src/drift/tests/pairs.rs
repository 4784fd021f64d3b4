//! Pairs of schemas that are easily told wrong.

use super::schemas::{BREAKS, COSMETIC, FINE, Line, SAME};

pub(crate) const REFERENCES: &[Line] = &[
    (
        r##"{"properties":{"x":{"$ref":"#t"}},"$defs":{"t":{"$anchor":"t","type":"string"}}}"##,
        r##"{"properties":{"x":{"$ref":"#t"}},"$defs":{"t":{"$anchor":"t","type":"integer"}}}"##,
        BREAKS,
        BREAKS,
    ),
    (
        r##"{"properties":{"x":{"$ref":"#t"}},"$defs":{"t":{"$anchor":"t","type":"integer"}}}"##,
        r##"{"properties":{"x":{"$ref":"#t"}},"$defs":{"t":{"$anchor":"t","type":"number"}}}"##,
        FINE,
        BREAKS,
    ),
    (
        r##"{"properties":{"x":{"$ref":"#t"}},"$defs":{"t":{"$anchor":"t","type":"number"}}}"##,
        r##"{"properties":{"x":{"$ref":"#t"}},"$defs":{"t":{"$anchor":"t","type":"integer"}}}"##,
        BREAKS,
        FINE,
    ),
    (
        r#"{"properties":{"x":{"$ref":"thing"}},"$defs":{"t":{"$id":"thing","type":"string"}}}"#,
        r#"{"properties":{"x":{"$ref":"thing"}},"$defs":{"t":{"$id":"thing","type":"integer"}}}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"properties":{"x":{"$ref":"thing"}},"$defs":{"t":{"$id":"thing","type":"string"}}}"#,
        r#"{"properties":{"x":{"type":"string"}}}"#,
        SAME,
        SAME,
    ),
    (
        r#"{"properties":{"x":{"$ref":"http://e.x/s#/$defs/t"}},"$defs":{"t":{"type":"string"}},"$id":"http://e.x/s"}"#,
        r#"{"properties":{"x":{"$ref":"http://e.x/s#/$defs/t"}},"$defs":{"t":{"type":"integer"}},"$id":"http://e.x/s"}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r##"{"properties":{"x":{"$ref":"#/$defs/a%20b"}},"$defs":{"a b":{"type":"string"}}}"##,
        r##"{"properties":{"x":{"$ref":"#/$defs/a%20b"}},"$defs":{"a b":{"type":"integer"}}}"##,
        BREAKS,
        BREAKS,
    ),
    (
        r##"{"properties":{"x":{"$ref":"#/$defs/a%20b"}},"$defs":{"a b":{"type":"string"}}}"##,
        r#"{"properties":{"x":{"type":"string"}}}"#,
        SAME,
        SAME,
    ),
    (
        r##"{"properties":{"x":{"$dynamicRef":"#t"}},"$defs":{"t":{"$dynamicAnchor":"t","type":"string"}}}"##,
        r##"{"properties":{"x":{"$dynamicRef":"#t"}},"$defs":{"t":{"$dynamicAnchor":"t","type":"integer"}}}"##,
        BREAKS,
        BREAKS,
    ),
    (
        r##"{"properties":{"x":{"$ref":"#gone"}},"$defs":{"t":{"type":"string"}}}"##,
        r##"{"properties":{"x":{"$ref":"#gone"}},"$defs":{"t":{"type":"integer"}}}"##,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"properties":{"x":{"$ref":"https://e.x/other.json"}},"$defs":{"t":{"type":"string"}}}"#,
        r#"{"properties":{"x":{"$ref":"https://e.x/other.json"}},"$defs":{"t":{"type":"integer"}}}"#,
        SAME,
        SAME,
    ),
    (
        r#"{"properties":{"x":{"$ref":"https://e.x/other.json"}},"$defs":{"t":{"type":"string"}}}"#,
        r#"{"properties":{"x":{"$ref":"https://e.x/another.json"}},"$defs":{"t":{"type":"string"}}}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r##"{"properties":{"p":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"q":{"$ref":"#/$defs/A"}}}}}"##,
        r##"{"properties":{"p":{"properties":{"q":{"$ref":"#"}}}}}"##,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"dependentSchemas":{"title":{"required":["a"]}}}"#,
        r#"{"dependentSchemas":{"title":{"required":["b"]}}}"#,
        BREAKS,
        BREAKS,
    ),
];

/// Keywords that look at what stands beside them, in both parts of one schema.
pub(crate) const TOGETHER: &[Line] = &[
    (
        r#"{"contains":{"const":1},"allOf":[{"contains":{"const":2},"minContains":2}]}"#,
        r#"{"contains":{"const":1},"minContains":2,"allOf":[{"contains":{"const":2},"minContains":2}]}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"if":{"required":["a"]},"then":{"required":["b"]},"allOf":[{"if":{"required":["c"]},"else":{"minProperties":3}}]}"#,
        r#"{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"minProperties":3},"allOf":[{"if":{"required":["c"]},"else":{"minProperties":3}}]}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"prefixItems":[{"type":"string"}],"items":{"minLength":2}}"#,
        r#"{"prefixItems":[{"type":"string"}],"allOf":[{"items":{"minLength":2}}]}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"items":{"type":"string"},"allOf":[{"items":{"minLength":2}}]}"#,
        r#"{"items":{"type":"string","minLength":2}}"#,
        SAME,
        SAME,
    ),
    (r#"{"contains":{"const":1},"allOf":[{"contains":{"const":1}}]}"#, r#"{"contains":{"const":1}}"#, SAME, SAME),
];

pub(crate) const PATTERNS: &[Line] = &[
    (
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"patternProperties":{"^x_":{"type":"string"}}}"#,
        FINE,
        FINE,
    ),
    (
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"patternProperties":{"^x_":{"type":"string"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"patternProperties":{"^a":{"type":"integer"}}}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"type":"object","properties":{},"additionalProperties":false,"patternProperties":{"^x":{"type":"integer"}}}"#,
        r#"{"type":"object","properties":{},"additionalProperties":false,"patternProperties":{"^x":{"type":"integer"},"^x_":{"type":"string"}}}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"type":"object","properties":{},"additionalProperties":false,"patternProperties":{"^x":{"type":"integer"}}}"#,
        r#"{"type":"object","properties":{},"additionalProperties":false,"patternProperties":{"^x":{"type":"integer"},"^y":{"type":"integer"}}}"#,
        FINE,
        FINE,
    ),
    (
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}"#,
        r#"{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":{"type":"integer"}}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}"#,
        r#"{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":{"type":"integer"}}"#,
        FINE,
        FINE,
    ),
    (
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}"#,
        r#"{"type":"object","properties":{"x":{"type":"number"}},"additionalProperties":{"type":"integer"}}"#,
        FINE,
        BREAKS,
    ),
    (
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"},"patternProperties":{"^x":{"type":"string"}}}"#,
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}"#,
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"integer"},"patternProperties":{"^x":{"type":"string"}}}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"type":"object","properties":{},"patternProperties":{"^x":{"type":"integer"}}}"#,
        r#"{"type":"object","properties":{"xa":{"type":"string"}},"patternProperties":{"^x":{"type":"integer"}}}"#,
        BREAKS,
        FINE,
    ),
];

pub(crate) const ONE_OF: &[Line] = &[
    (
        r#"{"oneOf":[{"type":"integer","minimum":10},{"type":"integer","maximum":5}]}"#,
        r#"{"anyOf":[{"type":"integer","minimum":10},{"type":"integer","maximum":5}]}"#,
        SAME,
        SAME,
    ),
    (
        r#"{"oneOf":[{"type":"integer","minimum":5},{"type":"integer","maximum":5}]}"#,
        r#"{"anyOf":[{"type":"integer","minimum":5},{"type":"integer","maximum":5}]}"#,
        FINE,
        BREAKS,
    ),
    (
        r#"{"oneOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"type":"object","required":["a"],"properties":{"a":{"type":"null"}}}]}"#,
        r#"{"anyOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"type":"object","required":["a"],"properties":{"a":{"type":"null"}}}]}"#,
        SAME,
        SAME,
    ),
    (
        r#"{"oneOf":[{"type":"string"},{"type":"integer"}]}"#,
        r#"{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"number"}]}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"number"}]}"#,
        r#"{"oneOf":[{"type":"string"},{"type":"integer"}]}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}]}"#,
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}}}]}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}]}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        FINE,
        BREAKS,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        r#"{"oneOf":[{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]},{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}]}"#,
        SAME,
        SAME,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"title":"t"},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
        SAME,
        SAME,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},{"type":"object","properties":{"k":{"const":2}},"required":["k"]}]}"#,
        r#"{"oneOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},{"type":"object","properties":{"k":{"const":2}},"required":["k"]},{"type":"object","properties":{"k":{"const":3}},"required":["k"]}]}"#,
        FINE,
        BREAKS,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},{"type":"object","properties":{"k":{"const":2}},"required":["k"]},{"type":"object","properties":{"k":{"const":3}},"required":["k"]}]}"#,
        r#"{"anyOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},{"type":"object","properties":{"k":{"const":2}},"required":["k"]}]}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"oneOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},{"type":"object","properties":{"k":{"const":2}},"required":["k"]}]}"#,
        r#"{"oneOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},{"type":"object","properties":{"k":{"const":2},"x":{}},"required":["k"]}]}"#,
        FINE,
        FINE,
    ),
    (r#"{"oneOf":[{"type":"integer"},{"type":"number"}]}"#, r#"{"type":"number"}"#, FINE, BREAKS),
    (r#"{"type":"integer"}"#, r#"{"oneOf":[{"type":"integer"},{"type":"null"}]}"#, FINE, BREAKS),
    (r#"{"oneOf":[{"type":"string"}]}"#, r#"{"type":"string"}"#, SAME, SAME),
    (
        r#"{"anyOf":[{"type":"integer","minimum":0},{"type":"integer","maximum":5}]}"#,
        r#"{"type":"integer"}"#,
        FINE,
        BREAKS,
    ),
    (
        r#"{"type":"integer"}"#,
        r#"{"anyOf":[{"type":"integer","minimum":0},{"type":"integer","maximum":5}]}"#,
        BREAKS,
        FINE,
    ),
];

pub(crate) const LIMITS: &[Line] = &[
    (r#"{"enum":[1,2]}"#, r#"{"enum":[1.0,2.0]}"#, SAME, SAME),
    (r#"{"enum":[1.0,2.0]}"#, r#"{"enum":[1,2]}"#, SAME, SAME),
    (r#"{"type":"integer"}"#, r#"{"type":"number","multipleOf":1}"#, SAME, SAME),
    (r#"{"type":"number","multipleOf":1}"#, r#"{"type":"number"}"#, FINE, BREAKS),
    (r#"{"type":"integer"}"#, r#"{"type":"integer","minLength":5}"#, SAME, SAME),
    (r#"{"type":"integer","minLength":5}"#, r#"{"type":"integer"}"#, SAME, SAME),
    (r#"{"type":"integer","minimum":0}"#, r#"{"type":"integer","minimum":0,"exclusiveMinimum":-5}"#, SAME, SAME),
    (r#"{"minimum":0,"exclusiveMinimum":-5}"#, r#"{"minimum":0}"#, SAME, SAME),
    (r#"{"minimum":0,"exclusiveMinimum":-5}"#, r#"{"minimum":0,"exclusiveMinimum":0}"#, BREAKS, FINE),
    (r#"{"type":"integer","minimum":1}"#, r#"{"type":"integer","exclusiveMinimum":0}"#, SAME, SAME),
    (r#"{"type":"number","minimum":1}"#, r#"{"type":"number","exclusiveMinimum":0}"#, FINE, BREAKS),
    (r#"{"maximum":9007199254740993}"#, r#"{"maximum":9007199254740992}"#, BREAKS, FINE),
    (r#"{"maximum":9007199254740992}"#, r#"{"maximum":9007199254740993}"#, FINE, BREAKS),
    (
        r#"{"type":"integer","multipleOf":9007199254740993}"#,
        r#"{"type":"integer","multipleOf":9007199254740992}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}}}]}"#,
        r#"{"anyOf":[{"type":"string"}]}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"anyOf":[{"type":"string"}]}"#,
        r#"{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}}}]}"#,
        FINE,
        BREAKS,
    ),
    (r#"{"contains":{"type":"integer"}}"#, r#"{"contains":{"type":"integer"},"minContains":1}"#, SAME, SAME),
    (r#"{"contains":{"type":"integer"}}"#, r#"{"contains":{"type":"integer"},"minContains":0}"#, FINE, BREAKS),
    (r#"{"contains":{"type":"integer"}}"#, r"{}", FINE, BREAKS),
    (r"{}", r#"{"contains":{"type":"integer"}}"#, BREAKS, FINE),
    (r#"{"not":{"const":"a"}}"#, r"{}", FINE, BREAKS),
    (r#"{"if":{"minimum":1},"then":{"maximum":5}}"#, r"{}", FINE, BREAKS),
    (
        r#"{"allOf":[{"not":{"type":"integer"}},{"not":{"type":"string"}}]}"#,
        r#"{"not":{"type":"string"}}"#,
        BREAKS,
        BREAKS,
    ),
    (
        r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}],"default":{"a":"x"}}"#,
        r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}],"default":{"a":"y"}}"#,
        BREAKS,
        COSMETIC,
    ),
];
