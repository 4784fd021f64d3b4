#!/usr/bin/env python3
"""The weather of a few cities as an MCP server over stdio, for examples about models."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "six-bugs"))
from protocol import Refused, array, integer, serve, string, tool  # noqa: E402

WEATHER = {"Oslo": (4, "rain"), "Rome": (19, "sun"), "Lima": (17, "fog")}
CITY = string("The city, as `list_cities` returns it.", minLength=1, maxLength=40)


@tool("Lists the cities whose weather is known.", {}, {"cities": array("The cities.", CITY)})
def list_cities():
    return {"cities": list(WEATHER)}


@tool(
    "Returns the current weather of a city: degrees Celsius and the sky.",
    {"city": CITY},
    {"city": CITY, "degrees": integer("Degrees Celsius.", -80, 60), "sky": string("The sky in a word.")},
)
def get_weather(city):
    if city not in WEATHER:
        raise Refused(-32602, f"`city`: there is no weather of `{city}`; see `list_cities`")
    degrees, sky = WEATHER[city]
    return {"city": city, "degrees": degrees, "sky": sky}


if __name__ == "__main__":
    serve("weather")
