"""Files, choices, templates and reactions on their way to the customer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from onevoice.errors import CommandRefused, MessageUnsendable
from onevoice.flow.attachment.decide import FILE_BYTES_MAX
from onevoice.flow.attachment.perform import keep_file
from onevoice.flow.authority.decide import Command
from onevoice.flow.operator.perform import send_as_mine
from onevoice.vocabulary import (
    AccountId,
    Button,
    MediaId,
    MediaKind,
    OutgoingMedia,
    OutgoingMessage,
    Proposal,
    Reaction,
    Template,
    TurnContext,
)
from tests.perform.files import PNG, an_image, handed_in, owned, pieces, store
from tests.perform.stage import Stage


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"turns": {"debounce_seconds": 0.0}}


def _reaction_to(context: TurnContext) -> OutgoingMessage:
    return OutgoingMessage(reaction=Reaction(message=str(context.messages[0].id), emoji="❤️"))


class TestHandingIn:
    async def test_the_bytes_say_what_a_file_is(self, stage: Stage) -> None:
        """A claim makes no page a picture; the row comes after the bytes."""
        picture = await handed_in(stage, filename="../a/b\\foto\x07.png", claimed_type="text/html")
        page = await handed_in(stage, b"<!DOCTYPE html><html></html>", claimed_type="image/png")
        table = await handed_in(stage, b"a;b\n1;2\n", claimed_type="text/csv; charset=utf-8")
        voice = await handed_in(
            stage, b"OggS\x00\x02" + b"\x00" * 22 + b"\x01\x13OpusHead\x01" + b"\x00" * 40
        )

        assert (picture.kind, picture.mime_type, picture.filename) == (
            MediaKind.IMAGE,
            "image/png",
            "foto.png",
        )
        assert (page.kind, page.mime_type) == (MediaKind.DOCUMENT, "text/html")
        assert (table.kind, table.mime_type) == (MediaKind.DOCUMENT, "text/csv")
        assert (voice.kind, voice.mime_type) == (MediaKind.AUDIO, "audio/ogg")
        assert store(stage).files[f"default/{picture.id}"] == PNG

    async def test_a_file_without_bytes_or_with_too_many_is_refused(self, stage: Stage) -> None:
        """Nothing of it is kept, and it has no row."""

        async def endless() -> AsyncIterator[bytes]:
            piece = b"\x00" * 2**20
            for _ in range(FILE_BYTES_MAX // len(piece) + 1):
                yield piece

        for content, code in ((pieces(), "file_empty"), (endless(), "file_too_large")):
            with pytest.raises(MessageUnsendable) as refused:
                await keep_file(stage.runtime, AccountId("default"), content)
            assert refused.value.code == code

        assert store(stage).files == {}
        assert await stage.rows("media") == []


class TestOperators:
    async def test_a_file_leaves_after_its_upload(self, stage: Stage) -> None:
        """Two acts: the file, then the message that names it by the channel's id."""
        stage.channel.upload_days = 29.0
        actor = await owned(stage)
        await stage.reply(actor, an_image(await handed_in(stage), "o mapa"))
        await stage.run()

        assert stage.channel.uploads == [PNG]
        assert [(sent.text, sent.uploaded_as) for sent in stage.channel.sent] == [("o mapa", "upload-1")]
        assert await stage.states("outbound_message") == ["sent"]
        assert (await stage.rows("inbound_message"))[0]["state"] == "answered"

    async def test_a_second_message_with_the_file_needs_no_second_upload(self, stage: Stage) -> None:
        """The channel's id is good for a while; then the file is handed over again."""
        stage.channel.upload_days = 29.0
        actor = await owned(stage)
        file = await handed_in(stage)
        for days in (0, 28, 2):
            await stage.clock.advance(days * 86_400.0)
            await stage.reply(actor, an_image(file))
            await stage.run()

        assert [sent.uploaded_as for sent in stage.channel.sent] == ["upload-1", "upload-1", "upload-2"]

    async def test_a_channel_without_uploads_is_asked_for_none(self, stage: Stage) -> None:
        """The row is enough for it."""
        actor = await owned(stage)
        await stage.reply(actor, an_image(await handed_in(stage)))
        await stage.run()

        assert stage.channel.uploads == []
        assert [sent.payload["type"] for sent in stage.channel.sent] == ["image"]

    async def test_the_same_key_is_the_same_message(self, stage: Stage) -> None:
        """Other content under it is refused, also where the words are the same."""
        actor = await owned(stage)
        file = await handed_in(stage)
        first = await stage.reply(actor, an_image(file, "oi"), idempotency_key="k")
        again = await stage.reply(actor, an_image(file, "oi"), idempotency_key="k")
        with pytest.raises(CommandRefused) as refused:
            await stage.reply(actor, "oi", idempotency_key="k")

        assert (again.is_new, again.outbound_ids) == (False, first.outbound_ids)
        assert refused.value.code == "key_reused"

    @pytest.mark.parametrize(
        ("message", "code"),
        [
            (OutgoingMessage(media=OutgoingMedia(id=MediaId(UUID(int=5)))), "media_unknown"),
            (OutgoingMessage(reaction=Reaction(message="m99", emoji="👍")), "reaction_target_unknown"),
            (OutgoingMessage(text="a", reaction=Reaction(message="m1", emoji="👍")), "content_ambiguous"),
            (
                OutgoingMessage(
                    buttons=(Button(id="a", title="a"),), template=Template(name="t", language="pt")
                ),
                "content_ambiguous",
            ),
            (OutgoingMessage(media=OutgoingMedia()), "content_ambiguous"),
            (OutgoingMessage(text="?", buttons=(Button(id="a", title="a"),)), "not_supported"),
        ],
    )
    async def test_what_cannot_be_sent_is_not_sealed(
        self, stage: Stage, message: OutgoingMessage, code: str
    ) -> None:
        """The operator is told which limit, and the customer's message stays open."""
        stage.channel.unsupported = frozenset({"buttons"})
        actor = await owned(stage)
        with pytest.raises(MessageUnsendable) as refused:
            await stage.reply(actor, message)

        assert refused.value.code == code
        assert await stage.rows("outbound_message") == []
        assert (await stage.rows("inbound_message"))[0]["state"] == "open"

    async def test_another_accounts_file_is_not_found(self, stage: Stage) -> None:
        """Ids that are guessed open nothing."""
        actor = await owned(stage)
        file = await handed_in(stage, account="another")
        with pytest.raises(MessageUnsendable) as refused:
            await stage.reply(actor, an_image(file))

        assert refused.value.code == "media_unknown"

    async def test_a_reaction_answers_nothing(self, stage: Stage) -> None:
        """By our id or the channel's, it goes out under the channel's; the message stays open."""
        actor = await owned(stage)
        row = (await stage.rows("inbound_message"))[0]
        for target in (str(row["id"]), row["external_id"]):
            await stage.reply(actor, OutgoingMessage(reaction=Reaction(message=target, emoji="👍")))
        await stage.run()

        assert [sent.payload["message"] for sent in stage.channel.sent] == ["m1", "m1"]
        assert stage.sent == ["[reaction: 👍]"] * 2
        assert (await stage.rows("inbound_message"))[0]["state"] == "open"

    async def test_a_template_passes_a_closed_window_and_nothing_else_does(self, stage: Stage) -> None:
        """What is parked for want of it waits until the customer writes again, and then leaves."""
        actor = await owned(stage)
        await stage.owner.execute("update conversation set window_expires_at = $1", stage.clock.now())
        await stage.clock.advance(1.0)
        await stage.reply(actor, "ainda está aí?")
        await stage.reply(
            actor, OutgoingMessage(template=Template(name="retomar_conversa", language="pt_BR"))
        )
        await stage.run()
        await stage.run()

        assert stage.sent == ["[template: retomar_conversa]"]
        assert await stage.states("outbound_message") == ["parked: needs_template", "sent"]

    async def test_a_parked_file_can_be_sent_as_ones_own(self, stage: Stage) -> None:
        """The file goes along, not only the words in brackets."""
        file = await handed_in(stage)
        stage.agent.script(Proposal(messages=(an_image(file),)))
        await stage.customer("manda o mapa")
        (turn,) = await stage.claim()
        await stage.answer(turn)
        actor = await stage.operator("rita")
        await stage.command(Command.TAKE, actor)
        (revoked,) = await stage.rows("outbound_message")
        await send_as_mine(
            stage.runtime, AccountId("default"), revoked["id"], actor=actor, idempotency_key="mine"
        )
        await stage.run()

        assert [sent.payload["media"] for sent in stage.channel.sent] == [str(file.id)]


class TestAgents:
    async def test_bytes_are_in_the_store_before_they_are_sealed(self, stage: Stage) -> None:
        """The row holds an id."""
        media = OutgoingMedia(content=PNG, filename="mapa.png")
        stage.agent.script(Proposal(messages=(OutgoingMessage(text="o mapa", media=media),)))
        await stage.customer("onde fica?")
        await stage.run()

        [row] = await stage.rows("media")
        assert store(stage).files == {f"default/{row['id']}": PNG}
        assert [sent.payload["media"] for sent in stage.channel.sent] == [str(row["id"])]
        assert stage.sent == ["o mapa"]

    async def test_what_the_channel_lacks_goes_in_a_simpler_form(self, stage: Stage) -> None:
        """Choices become numbered lines: the customer is not kept waiting for a limit."""
        stage.channel.unsupported = frozenset({"buttons"})
        choices = (Button(id="s", title="Sim"), Button(id="n", title="Não"))
        stage.agent.script(Proposal(messages=(OutgoingMessage(text="Confirma?", buttons=choices),)))
        await stage.customer("sexta")
        await stage.run()

        assert stage.sent == ["Confirma?\n\n1. Sim\n2. Não"]

    @pytest.mark.parametrize(
        "message",
        [
            OutgoingMessage(media=OutgoingMedia(id=MediaId(UUID(int=5)))),
            OutgoingMessage(template=Template(name="oferta", language="pt_BR")),
            OutgoingMessage(reaction=Reaction(message="m99", emoji="👍")),
        ],
    )
    async def test_what_cannot_be_sent_fails_the_turn(self, stage: Stage, message: OutgoingMessage) -> None:
        """As any bad answer: asked again, and handed to a human in the end."""
        stage.agent.script(Proposal(messages=(message,)))
        await stage.customer("oi")
        await stage.run()
        await stage.after(2.0)

        assert await stage.states("turn") == ["failed: answer_unsendable", "sealed: answered"]
        assert stage.sent == ["Certo!"]

    async def test_a_store_that_is_away_fails_the_turn(self, stage: Stage) -> None:
        """And the next try keeps the file."""
        store(stage).is_away = True
        message = OutgoingMessage(media=OutgoingMedia(content=PNG))
        stage.agent.script(Proposal(messages=(message,)))
        stage.agent.script(Proposal(messages=(message,)))
        await stage.customer("oi")
        await stage.run()
        store(stage).is_away = False
        await stage.after(2.0)

        assert await stage.states("turn") == ["failed: store_unavailable", "sealed: answered"]
        assert len(stage.sent) == 1

    async def test_a_reaction_alone_ends_the_turn(self, stage: Stage) -> None:
        """Its burst is not asked about for ever."""
        await stage.customer("obrigada!")
        stage.agent.script(lambda context: Proposal(messages=(_reaction_to(context),)))
        await stage.run()

        assert [sent.payload["emoji"] for sent in stage.channel.sent] == ["❤️"]
        assert await stage.states("turn") == ["sealed: answered"]
