"""The calls that a fault with a share strikes are the same however many cases run at once."""

import json
import os
import subprocess


def struck(parallel):
    command = [os.environ["MCPROVE"], "run", "suite.yml", "--parallel", str(parallel), "--report", "ndjson=events.ndjson"]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    finished = [event["case-finished"] for event in map(json.loads, open("events.ndjson")) if "case-finished" in event]
    calls = {exchange["sent"]: "injected failure" in exchange["received"] for case in finished for exchange in case["exchanges"]}
    verdicts = {case["case"]["id"]: case["outcome"] for case in finished}
    return run.returncode, calls, verdicts


runs = {parallel: struck(parallel) for parallel in (1, 8, 64)}
status, calls, verdicts = runs[1]
print(f"one case at a time: exit {status}, {sum(calls.values())} of {len(calls)} calls were struck")
for parallel in (8, 64):
    print(f"{parallel} cases at a time:", "the same calls and verdicts" if runs[parallel] == runs[1] else runs[parallel])
