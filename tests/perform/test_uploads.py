"""A file is handed to its channel before its message: an act of its own, which loses nothing and overtakes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onevoice.errors import MediaUnavailable
from onevoice.flow.authority.decide import Command
from onevoice.flow.operator.perform import release_outbound
from onevoice.flow.outbox.upload import finish_upload, upload
from onevoice.ports.channel import ChannelError, Refused, StatusItem
from onevoice.vocabulary import (
    AccountId,
    ErrorAction,
    OutboundState,
    OutgoingMedia,
    OutgoingMessage,
    Proposal,
)
from tests.perform.files import PNG, an_image, handed_in, owned
from tests.perform.stage import Stage


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"turns": {"debounce_seconds": 0.0}}


@pytest.fixture(autouse=True)
def wants_uploads(stage: Stage) -> None:
    stage.channel.upload_days = 29.0


async def test_the_lane_waits_behind_an_upload(stage: Stage) -> None:
    """I5: what was sealed later does not overtake, however long the upload takes."""
    actor = await owned(stage)
    await stage.reply(actor, an_image(await handed_in(stage)))
    (lent,) = await stage.begin_uploads()
    await stage.reply(actor, "viu o mapa?")
    await stage.after(lent.seconds - 1.0)
    early = list(stage.sent)
    await finish_upload(stage.runtime, lent, await upload(stage.runtime, lent))
    await stage.run()

    assert early == []
    assert [sent.uploaded_as for sent in stage.channel.sent] == ["upload-1", None]
    assert len(stage.channel.uploads) == 1


async def test_two_dispatchers_upload_once(stage: Stage) -> None:
    """Whoever looked first has the lane for as long as the upload may take."""
    actor = await owned(stage)
    await stage.reply(actor, an_image(await handed_in(stage)))
    looks = await asyncio.gather(stage.begin_uploads(), stage.begin_uploads())

    assert sorted(len(look) for look in looks) == [0, 1]


async def test_a_process_that_dies_in_the_upload_loses_nothing(stage: Stage) -> None:
    """Nobody comes back: once its time is over, another uploads."""
    actor = await owned(stage)
    await stage.reply(actor, an_image(await handed_in(stage)))
    (lent,) = await stage.begin_uploads()
    await stage.after(lent.seconds + 6.0)

    assert [sent.uploaded_as for sent in stage.channel.sent] == ["upload-1"]


async def test_a_late_upload_does_not_end_anothers_lease(stage: Stage) -> None:
    """Its id is kept all the same."""
    actor = await owned(stage)
    await stage.reply(actor, an_image(await handed_in(stage)))
    (late,) = await stage.begin_uploads()
    await stage.clock.advance(late.seconds + 6.0)
    (second,) = await stage.begin_uploads()
    failed = await finish_upload(stage.runtime, late, MediaUnavailable("gone", retry=False))
    await finish_upload(stage.runtime, second, "upload-x")
    await stage.run()

    assert failed is OutboundState.DUE
    assert [sent.uploaded_as for sent in stage.channel.sent] == ["upload-x"]


async def test_a_takeover_during_the_upload_revokes_the_message(stage: Stage) -> None:
    """Nothing is on the wire, so that it is confirmed at once; the upload is kept, the message never leaves."""
    stage.agent.script(Proposal(messages=(OutgoingMessage(media=OutgoingMedia(content=PNG)),)))
    await stage.customer("oi")
    (turn,) = await stage.claim()
    await stage.answer(turn)
    (lent,) = await stage.begin_uploads()
    await stage.command(Command.TAKE, await stage.operator("rita"))
    state = await finish_upload(stage.runtime, lent, await upload(stage.runtime, lent))
    await stage.run()

    assert (await stage.authority())[0] == "HUMAN_ACTIVE"
    assert state is OutboundState.REVOKED
    assert stage.sent == []
    assert len(await stage.rows("media_upload")) == 1


async def test_a_refused_file_ends_its_message_alone(stage: Stage) -> None:
    """With a reason and a notification; the lane goes on."""
    stage.channel.upload_faults.append(MediaUnavailable("channel_131053", retry=False))
    actor = await owned(stage)
    await stage.reply(actor, an_image(await handed_in(stage)))
    await stage.reply(actor, "viu?")
    await stage.run()

    assert await stage.states("outbound_message") == ["failed: media_refused", "sent"]
    assert (await stage.rows("outbound_message"))[0]["error_code"] == "channel_131053"


@pytest.mark.parametrize("by_status", [False, True])
async def test_a_refused_id_is_not_used_again(stage: Stage, by_status: bool) -> None:
    """The channel may have lost the file, or the number is another one by now; the next message hands it in anew."""
    error = ChannelError(action=ErrorAction.FIX, code="100", detail=None)
    actor, file = await owned(stage), await handed_in(stage)
    if not by_status:
        stage.channel.script(Refused(error=error))
    await stage.reply(actor, an_image(file))
    await stage.run()
    if by_status:
        sent = (await stage.rows("outbound_message"))[0]["external_id"]
        await stage.report(StatusItem(external_id=sent, status="failed", raw=b"{}", error=error))
    await stage.reply(actor, an_image(file))
    await stage.run()

    assert await stage.states("outbound_message") == ["failed: channel_fix", "sent"]
    assert [delivery.uploaded_as for delivery in stage.channel.deliveries] == ["upload-1", "upload-2"]


async def test_later_parts_do_not_go_on_without_the_file(stage: Stage) -> None:
    """A reply that stopped in the middle stops."""
    stage.channel.upload_faults.append(MediaUnavailable("channel_131053", retry=False))
    media = OutgoingMedia(content=PNG)
    stage.agent.script(Proposal(messages=(OutgoingMessage(media=media), OutgoingMessage(text="é aqui"))))
    await stage.customer("onde?")
    await stage.run()

    assert await stage.states("outbound_message") == [
        "failed: media_refused",
        "parked: earlier_part_failed",
    ]


async def test_a_passing_fault_is_tried_again_and_not_for_ever(stage: Stage) -> None:
    """With back-off; then it is parked, and a release begins anew."""
    stage.channel.upload_faults.extend([MediaUnavailable("channel_131016")] * 6)
    actor = await owned(stage)
    sealed = await stage.reply(actor, an_image(await handed_in(stage)))
    await stage.run()
    early = await stage.states("outbound_message")
    for _ in range(6):
        await stage.after(120.0)
    parked = await stage.states("outbound_message")
    await release_outbound(stage.runtime, AccountId("default"), sealed.outbound_ids[0], actor=actor)
    await stage.run()

    assert early == ["due"]
    assert parked == ["parked: retries_exhausted"]
    assert await stage.states("outbound_message") == ["sent"]


async def test_an_upload_is_not_an_attempt(stage: Stage) -> None:
    """It is in no way in flight: only the send that follows is."""
    actor = await owned(stage)
    await stage.reply(actor, an_image(await handed_in(stage)))
    await stage.begin_uploads()

    assert await stage.rows("attempt") == []
    assert (await stage.rows("outbound_message"))[0]["attempt_count"] == 0
