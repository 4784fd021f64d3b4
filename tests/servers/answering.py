"""Tools that answer in all forms, over stdio: structured content with and without an output schema, beside JSON or a sentence,
and texts alone. `heard` tells how many calls came, itself included.
"""

import json
import sys

ANN = {"name": "Ann", "orders": 31}
SENTENCE = "Ann has 31 orders."
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "orders": {"type": "integer"}}, "required": ["name", "orders"]}
TOOLS = {
    "json_beside": {"outputSchema": SCHEMA},
    "sentence_beside": {"outputSchema": SCHEMA},
    "no_schema": {},
    "json_alone": {},
    "sentence_alone": {},
    "refuses": {},
    "heard": {},
}


def texts(text):
    return {"content": [{"type": "text", "text": text}]}


def call(name):
    answers = {
        "json_beside": texts(json.dumps(ANN)) | {"structuredContent": ANN},
        "sentence_beside": texts(SENTENCE) | {"structuredContent": ANN},
        "no_schema": texts(SENTENCE) | {"structuredContent": ANN},
        "json_alone": texts(json.dumps(ANN)),
        "sentence_alone": texts(SENTENCE),
        "refuses": texts("Ann is not to be told of.") | {"isError": True},
        "heard": texts(f"{heard} calls"),
    }
    return answers[name]


heard = 0
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if "id" not in message:
        continue
    if method == "initialize":
        about = {"name": "answering", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} | more for name, more in TOOLS.items()]}
    else:
        heard += 1
        result = call(message["params"]["name"])
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
