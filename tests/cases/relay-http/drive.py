"""The calls that a plan strikes are the same however many are under way at once, over HTTP, too."""

import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.append("../../servers")
from calling import call, started  # noqa: E402

CALLS = 200


def struck(at_once):
    server, upstream = started(["serve", "demo", "--http", "127.0.0.1:0"], "serving")
    relay, url = started(["relay", "http", "--quiet", "--plan", "fifth.yml", "--upstream", upstream], "relaying")

    def is_struck(number):
        return call(url, number, "echo", {"message": f"call {number}"}).get("isError", False)

    with ThreadPoolExecutor(at_once) as pool:
        found = [number for number, is_hit in enumerate(pool.map(is_struck, range(CALLS))) if is_hit]
    for process in (relay, server):
        process.terminate()
        process.wait()
    return found


sets = [struck(at_once) for at_once in (1, 8, 64)]
print(f"{len(sets[0])} of {CALLS} calls were struck, one at a time")
for at_once, found in zip((8, 64), sets[1:]):
    print(f"{at_once} at a time:", "the same calls" if found == sets[0] else set(found) ^ set(sets[0]))
