"""A clinic's receptionist as a LangGraph graph: a model, its tools, and back."""

from __future__ import annotations

from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import onevoice

FREE = {"sexta": ["9h", "10h"], "sábado": ["10h"]}
BOOKED: set[tuple[str, str]] = set()
INSTRUCTIONS = "You are the receptionist of a small clinic. Answer briefly, in the customer's language."


async def free_hours(day: str) -> list[str]:
    """The free hours of a day."""
    return [hour for hour in FREE.get(day.lower(), []) if (day.lower(), hour) not in BOOKED]


@onevoice.writes
async def book(day: str, hour: str) -> str:
    """Book an hour for the customer."""
    BOOKED.add((day.lower(), hour))
    return f"{day} at {hour} is booked"


# A compiled graph takes no more tools, so the one that asks for a human is put in here.
tools = [free_hours, book, onevoice.handoff]
model = ChatOpenAI(model="gpt-5.2").bind_tools(tools)


async def call_model(state: MessagesState) -> dict[str, object]:
    return {"messages": [await model.ainvoke([("system", INSTRUCTIONS), *state["messages"]])]}


builder = StateGraph(MessagesState)
builder.add_node("model", call_model)
builder.add_node("tools", ToolNode(tools))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")
graph = builder.compile()
