"""A small warehouse on the official Python SDK 2.x, served in both eras.

The published servers ask nothing of a client that speaks 2026-07-28. This one does:
`reserve` puts up to two questions, `describe` asks a model, `folders` asks for roots.
"""

import asyncio
import sys
from typing import Annotated

from mcp import types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from pydantic import BaseModel, Field

server = MCPServer("warehouse", version="1.0.0", instructions="Start with `list_products`.")
READ_ONLY = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)


class Product(BaseModel):
    sku: str
    name: str
    stock: int = Field(ge=0)
    price: float | None = Field(description="In euro; null while nobody has set one")


class Quantity(BaseModel):
    quantity: int = Field(ge=1, le=100)


class Confirmation(BaseModel):
    confirmed: bool


PRODUCTS = {
    "bolt-m6": Product(sku="bolt-m6", name="Bolt M6", stock=120, price=0.15),
    "nut-m6": Product(sku="nut-m6", name="Nut M6", stock=0, price=0.05),
    "crate": Product(sku="crate", name="Crate, größer", stock=7, price=None),
}


def find(sku: str) -> Product:
    if sku not in PRODUCTS:
        raise ToolError(f"There is no product `{sku}`; call `list_products` to see what exists")
    return PRODUCTS[sku]


@server.tool(annotations=READ_ONLY, description="Lists every product")
def list_products() -> list[Product]:
    return list(PRODUCTS.values())


@server.tool(annotations=READ_ONLY, description="Looks one product up by its SKU")
def get_product(sku: Annotated[str, Field(min_length=1)]) -> Product:
    return find(sku)


@server.tool(annotations=READ_ONLY, description="Counts shelf by shelf and reports progress")
async def count_shelves(shelves: Annotated[int, Field(ge=1, le=20)], ctx: Context) -> int:
    for shelf in range(1, shelves + 1):
        await asyncio.sleep(0.02)
        await ctx.report_progress(shelf, shelves, f"shelf {shelf}")
    return shelves


def ask_quantity(sku: str) -> Elicit[Quantity]:
    return Elicit(f"How many of {find(sku).name}?", Quantity)


AskedQuantity = Annotated[Quantity, Resolve(ask_quantity)]


def ask_confirmation(sku: str, wanted: AskedQuantity) -> Confirmation | Elicit[Confirmation]:
    if wanted.quantity <= find(sku).stock:
        return Confirmation(confirmed=True)
    return Elicit(f"Only {find(sku).stock} in stock. Order the rest?", Confirmation)


@server.tool(description="Asks how many, and once more when stock is short")
def reserve(
    sku: str, wanted: AskedQuantity, answer: Annotated[Confirmation, Resolve(ask_confirmation)]
) -> str:
    return f"Reserved {wanted.quantity} of {sku}" if answer.confirmed else "Nothing reserved"


def ask_model(sku: str) -> Sample:
    text = types.TextContent(type="text", text=f"Advertise {find(sku).name}")
    return Sample([types.SamplingMessage(role="user", content=text)], max_tokens=50)


@server.tool(description="Lets the client's model advertise a product")
def describe(sku: str, ad: Annotated[types.CreateMessageResult, Resolve(ask_model)]) -> str:
    return f"{ad.model}: {ad.content.text}"


@server.tool(description="Names the folders that the client shares")
def folders(known: Annotated[types.ListRootsResult, Resolve(lambda: ListRoots())]) -> list[str]:
    return [str(root.uri) for root in known.roots]


@server.resource("stock://rules", mime_type="text/markdown", description="House rules")
def rules() -> str:
    return "# Rules\n\nFirst in, first out.\n"


@server.resource("stock://product/{sku}", mime_type="application/json", description="One product")
def product(sku: str) -> str:
    if sku not in PRODUCTS:
        raise ResourceNotFoundError(f"There is no product `{sku}`")
    return PRODUCTS[sku].model_dump_json()


@server.prompt(description="Asks for a restocking plan")
def restock(sku: str) -> str:
    return f"Plan how to restock {sku}."


# `sdk2_server.py` speaks over stdio; `sdk2_server.py sse 4000` and `sdk2_server.py streamable-http 4000 [json]` over
# HTTP, the last with whole answers instead of streams.
how, port, *words = [*sys.argv[1:], "stdio", "0"] if len(sys.argv) == 1 else sys.argv[1:]
if how == "stdio":
    server.run("stdio")
elif how == "sse":
    server.run("sse", port=int(port))
else:
    server.run("streamable-http", port=int(port), json_response="json" in words)
