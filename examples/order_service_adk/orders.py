"""The order service of a pizzeria as a Google ADK agent: three tools that read, three that write."""

from __future__ import annotations

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext
from order_book import OrderBook

import onevoice

BOOK = OrderBook()

INSTRUCTION = """You take orders for a pizzeria on WhatsApp. Answer briefly, in the customer's language.
Look up the customer's orders before you speak about one. Ask before you cancel an order, and change nothing that the
customer has not asked for. The customer's name is {contact_name?}."""


def list_orders(tool_context: ToolContext) -> list[dict[str, object]]:
    """The customer's orders."""
    return [order.as_dict() for order in BOOK.orders_of(tool_context.user_id)]


def opening_hours() -> str:
    """When the pizzeria is open."""
    return "every day from 18:00 to 23:30"


def payment_methods() -> list[str]:
    """How customers can pay."""
    return ["PIX", "card", "cash"]


@onevoice.writes
def add_item(tool_context: ToolContext, order: int, item: str, line: int = 1) -> str:
    """Add an item to an order. For a second one of the same item, count the line up."""
    return BOOK.add_item(tool_context.user_id, order, item)


@onevoice.writes
def cancel_order(tool_context: ToolContext, order: int) -> str:
    """Cancel an order, once the customer has confirmed it."""
    return BOOK.cancel(tool_context.user_id, order)


@onevoice.writes(retry_safe=True)
def change_address(tool_context: ToolContext, order: int, address: str) -> str:
    """Send an order to another address."""
    return BOOK.change_address(tool_context.user_id, order, address)


agent = LlmAgent(
    name="order_service",
    model="gemini-3.5-flash",
    instruction=INSTRUCTION,
    tools=[list_orders, opening_hours, payment_methods, add_item, cancel_order, change_address],
)
