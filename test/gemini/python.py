"""Tries Google's Python SDK on a gateway, and prints what came of it as JSON."""

import json
import sys

from google import genai
from google.genai import errors, types

url, image = sys.argv[1:3]
client = genai.Client(api_key="unused", http_options=types.HttpOptions(base_url=url))
called = []


def get_weather(city: str, unit: str) -> str:
    """The weather of a city."""
    called.append(["get_weather", {"city": city, "unit": unit}])
    return "21 °C, sunny"


def get_time(city: str) -> str:
    """The time in a city."""
    called.append(["get_time", {"city": city}])
    return "09:41"


def text_of(chunks) -> str:
    return "".join(chunk.text or "" for chunk in chunks)


def tools(model: str) -> object:
    called.clear()
    config = types.GenerateContentConfig(tools=[get_weather, get_time])
    answer = client.models.generate_content(model=model, contents="Weather?", config=config)
    return [answer.text, called[:]]


def streamed_tools(model: str) -> object:
    called.clear()
    config = types.GenerateContentConfig(tools=[get_weather, get_time])
    chunks = client.models.generate_content_stream(model=model, contents="Weather?", config=config)
    return [text_of(chunks), called[:]]


def chat(model: str) -> object:
    session = client.chats.create(model=model)
    return [session.send_message(f"Question {at}?").text for at in (1, 2, 3)]


def streamed_chat(model: str) -> object:
    session = client.chats.create(model=model)
    return [text_of(session.send_message_stream(f"Question {at}?")) for at in (1, 2, 3)]


def structured(model: str) -> object:
    schema = types.Schema(
        type="OBJECT",
        properties={"city": types.Schema(type="STRING"), "days": types.Schema(type="INTEGER")},
        required=["city", "days"],
    )
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_schema=schema
    )
    return client.models.generate_content(model=model, contents="Where?", config=config).parsed


def file(model: str) -> object:
    import base64

    part = types.Part.from_bytes(data=base64.b64decode(image), mime_type="image/png")
    return client.models.generate_content(model=model, contents=["What is it?", part]).text


def count(model: str) -> object:
    return client.models.count_tokens(model=model, contents="How many tokens are these?").total_tokens


def models(model: str) -> object:
    names = [one.name for one in client.models.list()]
    return [names, client.models.get(model=model).name]


def failure(model: str) -> object:
    try:
        text = text_of(client.models.generate_content_stream(model=model, contents="Hi"))
    except errors.APIError as error:
        return ["error", error.code, error.message]
    except Exception as error:  # What comes of a connection that breaks off is the HTTP client's.
        return ["cut", type(error).__name__]
    return ["text", text]


name = sys.argv[3]
print(json.dumps({"result": globals()[name]("m")}))
