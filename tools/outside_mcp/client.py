"""Lists the tools and calls five with the Python SDK: client.py CALLS stdio PROGRAM DATA | client.py CALLS http URL KEY"""

import asyncio
import json
import sys

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def check(streams, calls):
    async with ClientSession(streams[0], streams[1]) as session:
        begun = await session.initialize()
        tools = (await session.list_tools()).tools
        for call in calls:
            # The SDK validates the structured answer by the tool's output schema.
            result = await session.call_tool(call["name"], call["arguments"])
            content = result.model_dump(mode="json", by_alias=True)
            if content["isError"] or not content.get("structuredContent"):
                raise SystemExit(f"{call['name']}: {content['content'][0]['text'][:300]}")
        version = begun.model_dump(by_alias=True)["protocolVersion"]
        print(f"python {sys.argv[2]}: version {version}, {len(tools)} tools, {len(calls)} calls answered")


async def main():
    calls = json.load(open(sys.argv[1]))
    if sys.argv[2] == "stdio":
        program = StdioServerParameters(command=sys.argv[3], args=["mcp", "--data", sys.argv[4]])
        async with stdio_client(program) as streams:
            await check(streams, calls)
    else:
        async with httpx2.AsyncClient(headers={"x-api-key": sys.argv[4]}, timeout=60) as http:
            async with streamable_http_client(sys.argv[3], http_client=http) as streams:
                await check(streams, calls)


asyncio.run(main())
