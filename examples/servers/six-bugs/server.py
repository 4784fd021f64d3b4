#!/usr/bin/env python3
"""A corner shop as an MCP server over stdio, with one bug of each kind that mcprove finds.

`--fixed` has none of them, `--only crash,hang` has these.
"""

import argparse
import queue
import sys
import threading

sys.dont_write_bytecode = True
from protocol import array, closed, integer, serve, string, tool  # noqa: E402

KINDS = ["crash", "hang", "protocol-error", "schema-violation", "property-failure", "state-leak"]
BUGS = set(KINDS)

PRODUCTS = {  # sku: name, price in cents
    "tea": ("Green tea", 450),
    "coffee": ("Coffee", 790),
    "mug": ("Mug", 1200),
    "kettle": ("Kettle", 3900),
    "flyer": ("Flyer", 0),
}
RATES = {"EUR": 1.0, "USD": 1.1, "GBP": 0.85, "JPY": 160.0}
RATINGS, LOCK = {}, threading.Lock()
UNFOUND, CARRIER = [], queue.Queue()

SKU = string("The product, by its short name.", enum=list(PRODUCTS))
SKUS = array("Products by their short names.", SKU)
NAMES = array("Products by their short names.", string("A short name."))
LINE = {"sku": SKU, "quantity": integer("How many of it.", 1, 99)}
RATED = {"count": integer("How many ratings there are.", 0), "stars": integer("The sum of their stars.", 0)}


@tool(
    "Lists the products of the shop: page number `page`, with `size` products on each page.",
    {"page": integer("The page, from 1 on.", 1, 100, default=1), "size": integer("Its length.", 0, 20, default=3)},
    {"products": SKUS, "pages": integer("How many pages there are.", 0)},
)
def list_products(page, size):
    # Bug 1 (crash): pages may have 0 products, says the schema; nobody catches the division, so the process ends.
    pages = -(-len(PRODUCTS) // size) if size or "crash" in BUGS else 0
    return {"products": list(PRODUCTS)[(page - 1) * size : page * size], "pages": pages}


@tool(
    "Quotes what a parcel of `weight_kg` costs to `country`, in cents.",
    {"weight_kg": integer("Whole kilograms.", 1, 30), "country": string("Where to.", enum=["DE", "FR", "IT", "US"])},
    {"price_cents": integer("The price in cents.", 0)},
)
def quote_shipping(weight_kg, country):
    if weight_kg == 30 and "hang" in BUGS:
        # Bug 2 (hang): the heaviest parcels wait for an offer of a carrier, who never makes one.
        CARRIER.get()
    return {"price_cents": (900 if country == "US" else 400) + 50 * weight_kg}


@tool(
    "Converts a price of `cents` (euro) to `currency`.",
    {"cents": integer("The price in euro cents.", 0, 1000000), "currency": string("To what.", enum=list(RATES))},
    {"amount": {"type": "number", "description": "The price in that currency."}},
)
def convert_price(cents, currency):
    return {"amount": round(cents / 100 * RATES[currency], 2)}


def warning(arguments):
    if arguments.get("currency") == "JPY" and "protocol-error" in BUGS:
        # Bug 3 (protocol error): a warning goes into `error`, beside the result; a message has one of the two.
        return {"error": {"code": 1, "message": "the rate of JPY is a day old"}}
    return {}


@tool(
    "Tells the name of the product `sku`, and what it costs in cents.",
    {"sku": SKU},
    {"name": string("Its full name."), "price_cents": integer("The price in cents.", 0)},
)
def get_product(sku):
    name, cents = PRODUCTS[sku]
    # Bug 4 (schema violation): what costs nothing has a word for a price, and the schema says a whole number.
    return {"name": name, "price_cents": cents or ("free" if "schema-violation" in BUGS else 0)}


@tool(
    "Quotes an order of some `lines`: what each line costs, and what they cost together, in cents.",
    {"lines": array("A product and a quantity each.", closed(LINE), minItems=1, maxItems=8)},
    {
        "lines": array("The lines with prices.", closed({**LINE, "amount_cents": integer("The line's price.", 0)})),
        "total_cents": integer("The sum of the lines' prices.", 0),
    },
)
def quote_order(lines):
    lines = [{**line, "amount_cents": PRODUCTS[line["sku"]][1] * line["quantity"]} for line in lines]
    amounts = [line["amount_cents"] for line in lines]
    if "property-failure" in BUGS:
        # Bug 5 (property failure): two lines of one product count once, so the total is not the sum of the lines.
        amounts = {line["sku"]: line["amount_cents"] for line in lines}.values()
    return {"lines": lines, "total_cents": sum(amounts)}


@tool(
    "Finds products whose names have `query` in them, and some more that may be of interest.",
    {"query": string("Part of a name; upper and lower case are alike.", minLength=1, maxLength=60)},
    {"products": SKUS, "related": NAMES},
)
def search_products(query):
    found = [sku for sku, (name, _) in PRODUCTS.items() if query.lower() in name.lower()]
    related = [sku for sku in PRODUCTS if sku not in found][:2]
    if not found and "state-leak" in BUGS:
        # Bug 6 (state leak): what others looked for in vain is kept, and shown to whoever comes next.
        related = [earlier for earlier in UNFOUND if earlier != query]
        UNFOUND[:] = [query]
    return {"products": found, "related": related}


@tool(
    "Rates the product `sku` with 1 to 5 `stars`, and tells how it is rated now.",
    {"sku": SKU, "stars": integer("5 is best.", 1, 5), "comment": string("Why.", maxLength=200, default="")},
    RATED,
    reads=False,
)
def rate_product(sku, stars, comment):
    with LOCK:
        count, total, _ = RATINGS.get(sku, (0, 0, ""))
        RATINGS[sku] = (count + 1, total + stars, comment)
        return {"count": count + 1, "stars": total + stars}


@tool(
    "Shows how products were rated by `rate_product`, each with the latest comment.",
    {},
    {"ratings": array("One for each rated product.", closed({"sku": SKU, **RATED, "comment": string("Why.")}))},
)
def show_ratings():
    with LOCK:
        return {"ratings": [dict(zip(("sku", "count", "stars", "comment"), (sku, *it))) for sku, it in RATINGS.items()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fixed", action="store_true", help="mend all bugs")
    parser.add_argument("--only", metavar="KINDS", help=f"mend all but these: {','.join(KINDS)}")
    given = parser.parse_args()
    kept = given.only.split(",") if given.only else [] if given.fixed else KINDS
    if not set(kept) <= set(KINDS):
        parser.error(f"the kinds are {', '.join(KINDS)}")
    BUGS.intersection_update(kept)
    serve("corner-shop", amend=warning)


if __name__ == "__main__":
    main()
