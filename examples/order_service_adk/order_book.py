"""The order book of a pizzeria, in memory: what the tools of the agent read and change."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Order:
    """One order of a customer."""

    number: int
    address: str
    items: list[str] = field(default_factory=list[str])
    state: str = "open"

    def as_dict(self) -> dict[str, object]:
        return {
            "number": self.number,
            "state": self.state,
            "address": self.address,
            "items": list(self.items),
        }


class OrderBook:
    """Orders by customer. Every change says what has changed, or why nothing has."""

    def __init__(self) -> None:
        self._orders: dict[str, list[Order]] = {}
        self._last_number = 9

    def orders_of(self, customer: str) -> list[Order]:
        """A customer's orders; whoever has none is given one, so that the example can be played with."""
        if customer not in self._orders:
            self._last_number += 1
            self._orders[customer] = [Order(self._last_number, "Rua das Flores, 12", ["pizza margherita"])]
        return self._orders[customer]

    def find(self, customer: str, number: int) -> Order | None:
        return next((order for order in self.orders_of(customer) if order.number == number), None)

    def add_item(self, customer: str, number: int, item: str) -> str:
        order = self.find(customer, number)
        if order is None or order.state != "open":
            return f"order {number} is not open"
        order.items.append(item)
        return f"{item} was added to order {number}"

    def cancel(self, customer: str, number: int) -> str:
        order = self.find(customer, number)
        if order is None or order.state != "open":
            return f"order {number} is not open"
        order.state = "cancelled"
        return f"order {number} is cancelled"

    def change_address(self, customer: str, number: int, address: str) -> str:
        order = self.find(customer, number)
        if order is None or order.state != "open":
            return f"order {number} is not open"
        order.address = address
        return f"order {number} goes to {address}"
