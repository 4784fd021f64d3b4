"""For every type of faults: how many entries each client has once, with the right result, or knows that it has not.

The second call is struck, or every call where a type is about a tool as such.
"""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from client import Careful, Careless

KEYS = ["tea", "milk", "bread"]
TOOLS = "tools: [add_entry, put_entry]"
SECOND = 'on: { method: tools/call, tools: ["*_entry"], nth: 2 }'
# The types that only tests of suites can have.
OF_SUITES = {"kill", "kill_at_work", "pause", "slow_reader", "cancelled", "slow_writer", "torn_request"}
FAMILIES = {
    "no fault": "{ type: error, tools: [remove_entry] }",
    "latency": f"{{ type: latency, added: 2s, {SECOND} }}",
    "lost_request": f"{{ type: lost_request, {SECOND} }}",
    "lost_response": f"{{ type: lost_response, {SECOND} }}",
    "duplicate_request": f"{{ type: duplicate_request, {SECOND} }}",
    "duplicate_response": f"[{{ type: duplicate_response, {SECOND} }}, {{ name: then, type: lost_request, on: {{ method: tools/call, tools: ['*_entry'], nth: 3 }} }}]",
    "error": f"{{ type: error, {SECOND} }}",
    "failure": f"{{ type: failure, {SECOND} }}",
    "unavailable": f"{{ type: unavailable, {SECOND} }}",
    "partial_result": f"{{ type: partial_result, {SECOND} }}",
    "schema_drift": f"{{ type: schema_drift, {SECOND} }}",
    "retry_storm": f"{{ type: retry_storm, times: 3, {SECOND} }}",
    "garbage": f"{{ type: garbage, {SECOND} }}",
    "truncated": f"{{ type: truncated, {SECOND} }}",
    "torn": f"{{ type: torn, {SECOND} }}",
    "reset": f"{{ type: reset, {SECOND} }}",
    "crash": f"{{ type: crash, {SECOND} }}",
    "truncated_request": f"{{ type: truncated_request, {SECOND} }}",
    "bandwidth": f"{{ type: bandwidth, bandwidth: 60, direction: to_client, {SECOND} }}",
    "drop_tool": f"{{ type: drop_tool, {TOOLS} }}",
    "registry_inconsistency": f"{{ type: registry_inconsistency, {TOOLS} }}",
    "error_injection": f"{{ type: error_injection, rate: 0.5, {TOOLS} }}",
    "burst_error": f"{{ type: burst_error, rate: 0.5, burst_len: 2, {TOOLS} }}",
    "server_degradation": f"{{ type: server_degradation, episode_rate: 0.5, episode_len: 2, {TOOLS} }}",
}


def known(family, kind, client):
    plan, store = f"{family}.yml", f"{family}-{kind}.json"
    using = client(plan, store)
    results = {key: using.put(key) for key in KEYS}
    using.close()
    entries = json.load(open(store))["entries"] if os.path.exists(store) else []
    right = {0: [None], 1: [{"done": "add_entry"}, {"done": "put_entry"}]}
    return sum(results[key] in right.get(entries.count(key), []) for key in KEYS)


def compared(family):
    with open(f"{family}.yml", "w") as plan:
        plan.write(f"seed: 1\nfaults: {FAMILIES[family] if FAMILIES[family].startswith('[') else f'[{FAMILIES[family]}]'}\n")
    return known(family, "careful", Careful), known(family, "careless", Careless)


with ThreadPoolExecutor(4) as pool:
    for family, (careful, careless) in zip(FAMILIES, pool.map(compared, FAMILIES)):
        print(f"{family}: careful {careful} of {len(KEYS)}, careless", "fewer" if careless < careful else careless)
schema = subprocess.run([os.environ["MCPROVE"], "schema"], capture_output=True, text=True).stdout
types = next(words for words in re.findall(r'"enum": ?\[([^\]]*)\]', schema) if '"lost_request"' in words and '"torn"' in words)
print("not tried:", set(re.findall(r'"(\w+)"', types)) - OF_SUITES - set(FAMILIES))
