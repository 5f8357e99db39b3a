"""Take in what a verified webhook brought: every item durable before this returns, none at another's expense."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from onevoice.errors import DataRefused
from onevoice.flow.authority.echo import receive_echo
from onevoice.flow.batch import Batcher
from onevoice.flow.conversation import ConversationKey
from onevoice.flow.identity.perform import unite
from onevoice.flow.inbound.amend import amend
from onevoice.flow.inbound.perform import Arrival, Received, keep_unknown, receive
from onevoice.flow.receipt.perform import apply_statuses
from onevoice.flow.receipt.save import StatusReport
from onevoice.flow.runtime import Runtime
from onevoice.ports.channel import Channel, EchoItem, Item, ItemKind, MessageItem, StatusItem, UnknownItem


class Intake:
    """The inbound door of one process. Concurrent webhooks share their commits."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._messages: Batcher[Arrival, Received] = Batcher(lambda batch: receive(runtime, batch))
        self._statuses: Batcher[StatusReport, None] = Batcher(
            lambda batch: apply_statuses(runtime, batch), items_max=64
        )

    async def take(self, channel: Channel, items: Sequence[Item]) -> list[Received]:
        """Store every item under the channel its route names; returns what became of the messages."""
        messages: list[tuple[Channel, MessageItem]] = []
        others: list[tuple[Channel, StatusItem | EchoItem]] = []
        unknown: list[tuple[Channel, UnknownItem]] = []
        for item in items:
            owner = self._route(channel, item.route)
            if owner is None:
                unknown.append((channel, UnknownItem(reason="route_unknown", raw=item.raw)))
            elif isinstance(item, UnknownItem):
                unknown.append((owner, item))
            elif isinstance(item, MessageItem):
                messages.append((owner, item))
            else:
                others.append((owner, item))
        received = await asyncio.gather(*(self._message(owner, item) for owner, item in messages))
        await asyncio.gather(*(self._other(owner, item) for owner, item in others))
        for owner, item in unknown:
            await keep_unknown(self._runtime, owner.account, owner.name, [item])
        stored = [result for result in received if result is not None]
        await self._amend(messages, stored)
        await self._unite(messages, received)
        return stored

    async def drain(self) -> None:
        await self._messages.drain()
        await self._statuses.drain()

    def _route(self, channel: Channel, route: str | None) -> Channel | None:
        """A webhook is routed by the number inside it, not only by its URL."""
        if route is None or route == channel.route:
            return channel
        for other in self._runtime.channels.values():
            if other.kind == channel.kind and other.route == route:
                return other
        return None

    async def _message(self, channel: Channel, item: MessageItem) -> Received | None:
        try:
            return await self._messages.submit(
                Arrival(account=channel.account, channel=channel.name, item=item)
            )
        except DataRefused:
            await self._keep_refused(channel, item.raw)
            return None

    async def _other(self, channel: Channel, item: StatusItem | EchoItem) -> None:
        try:
            if isinstance(item, StatusItem):
                await self._statuses.submit(
                    StatusReport(account=channel.account, channel=channel.name, item=item)
                )
            else:
                await receive_echo(self._runtime, channel, item)
        except DataRefused:
            await self._keep_refused(channel, item.raw)

    async def _keep_refused(self, channel: Channel, raw: bytes) -> None:
        """What the database cannot hold as it is stays readable as bytes, and the webhook is answered all the same."""
        await keep_unknown(
            self._runtime,
            channel.account,
            channel.name,
            [UnknownItem(reason="refused_by_database", raw=raw)],
        )

    async def _unite(
        self, messages: Sequence[tuple[Channel, MessageItem]], received: Sequence[Received | None]
    ) -> None:
        for (channel, item), result in zip(messages, received, strict=True):
            if result is not None and result.is_split:
                contact = item.contact
                await unite(
                    self._runtime,
                    result.conversation,
                    channel=channel.name,
                    aliases=(contact.key, *contact.aliases),
                )

    async def _amend(
        self, messages: Sequence[tuple[Channel, MessageItem]], received: Sequence[Received]
    ) -> None:
        has_amendment = any(item.kind in (ItemKind.EDIT, ItemKind.REVOKE) for _, item in messages)
        keys: set[ConversationKey] = {
            result.conversation
            for result in received
            if result.is_awaited or (has_amendment and result.is_new)
        }
        for key in sorted(keys):
            await amend(self._runtime, key)
