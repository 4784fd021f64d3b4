"""A tool whose output schema asks more than anybody waits for: of all values, or of long texts."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Server  # noqa: E402

STEPS = {str(step): {"allOf": 2 * [{"$ref": f"#/$defs/{step + 1}"}]} for step in range(40)}
FROM_EVERYWHERE = {"type": "string", "pattern": "(?=.*c)a"}
SCHEMAS = {
    "all": {"type": "object", "$defs": {**STEPS, "40": {}}, "$ref": "#/$defs/0"},
    "long": {"type": "object", "properties": {"a": FROM_EVERYWHERE}, "required": ["a"]},
}
DECLARED = {"inputSchema": {"type": "object", "properties": {}}, "outputSchema": SCHEMAS[sys.argv[1]]}
TOOLS[:] = [{"name": "look", "description": "looks", "annotations": {"readOnlyHint": True}, **DECLARED}]


def call(name, arguments):
    return {"content": [], "structuredContent": {"a": 100_000 * "a"}}


server = Server(0)
server.call_tool = call
server.serve()
