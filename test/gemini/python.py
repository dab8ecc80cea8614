"""Does with Google's Python SDK what the lines of its input ask for, and prints a line of JSON for each."""

import base64
import json
import sys

from google import genai
from google.genai import types

called = []


def get_weather(city: str, unit: str) -> str:
    """The weather of a city."""
    called.append({"name": "get_weather", "input": {"city": city, "unit": unit}})
    return "21 °C, sunny"


def get_time(city: str) -> str:
    """The time in a city."""
    called.append({"name": "get_time", "input": {"city": city}})
    return "09:41"


def text_of(chunks) -> str:
    return "".join(chunk.text or "" for chunk in chunks)


def talk(client, asked) -> object:
    tools = [get_weather, get_time] if asked["tools"] else None
    chat = client.chats.create(model="m", config=types.GenerateContentConfig(tools=tools))
    if asked["stream"]:
        return [text_of(chat.send_message_stream(one)) for one in asked["questions"]]
    return [chat.send_message(one).text for one in asked["questions"]]


def structured(client, asked) -> object:
    schema = types.Schema(
        type="OBJECT",
        properties={"city": types.Schema(type="STRING"), "days": types.Schema(type="INTEGER")},
        required=["city", "days"],
    )
    request = {
        "model": "m",
        "contents": "Where?",
        "config": types.GenerateContentConfig(
            response_mime_type="application/json", response_schema=schema
        ),
    }
    if asked["stream"]:
        return json.loads(text_of(client.models.generate_content_stream(**request)))
    return client.models.generate_content(**request).parsed


def file(client, asked) -> object:
    part = types.Part.from_bytes(
        data=base64.b64decode(asked["data"]), mime_type=asked["mimeType"]
    )
    return client.models.generate_content(model="m", contents=["What is it?", part]).text


def count(client, asked) -> object:
    return client.models.count_tokens(model="m", contents=asked["text"]).total_tokens


def models(client, asked) -> object:
    names = [one.name for one in client.models.list(config={"page_size": 1})]
    return [names, [client.models.get(model=name).name for name in names]]


for line in sys.stdin:
    asked = json.loads(line)
    called.clear()
    options = types.HttpOptions(base_url=asked["url"])
    client = genai.Client(api_key="unused", http_options=options)
    try:
        said = {"result": globals()[asked["task"]](client, asked), "called": called}
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(said), flush=True)
