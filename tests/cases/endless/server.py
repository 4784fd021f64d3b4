"""A tool whose output schema asks more than anybody waits for: of all values, or of those that are deep."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Server  # noqa: E402

STEPS = {str(step): {"allOf": 2 * [{"$ref": f"#/$defs/{step + 1}"}]} for step in range(40)}
AGAIN = {"anyOf": 2 * [{"$ref": "#"}]}
SCHEMAS = {
    "all": {"type": "object", "$defs": {**STEPS, "40": {}}, "$ref": "#/$defs/0"},
    "deep": {"type": "object", "properties": {"a": AGAIN}, "required": ["a"]},
}
DECLARED = {"inputSchema": {"type": "object", "properties": {}}, "outputSchema": SCHEMAS[sys.argv[1]]}
TOOLS[:] = [{"name": "look", "description": "looks", "annotations": {"readOnlyHint": True}, **DECLARED}]


def call(name, arguments):
    value = {}
    for _ in range(60):
        value = {"a": value}
    return {"content": [], "structuredContent": value}


server = Server(0)
server.call_tool = call
server.serve()
