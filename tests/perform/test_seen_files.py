"""What came in as a file, as everybody sees it who decides: the agent, triage, the policies, a suggestion."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from onevoice.flow.attachment.link import LINK_SECONDS_MAX, is_link_good
from onevoice.flow.authority.decide import Command
from onevoice.flow.gate.policy import Rule
from onevoice.flow.proposal.decide import NOT_TRANSCRIBED
from onevoice.flow.proposal.perform import suggest
from onevoice.flow.suggestion.perform import claim_drafts, keep_draft
from onevoice.vocabulary import Media, Proposal, TriageDecision
from tests.perform.stage import Stage

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(500)


async def _image(stage: Stage) -> None:
    stage.channel.files["photo"] = JPEG
    await stage.customer(
        "[image]", type="image", media={"kind": "image", "id": "photo", "mime_type": "image/jpeg"}
    )


def _media(stage: Stage) -> Media:
    (message,) = stage.agent.contexts[0].messages
    assert message.media is not None
    return message.media


class TestAnAgentThatTakesImages:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"agent": {"takes_images": True}}

    async def test_it_is_shown_the_bytes(self, stage: Stage) -> None:
        """The stored file, with its measured type."""
        await _image(stage)
        await stage.after(5.0)

        assert (_media(stage).content, _media(stage).mime_type) == (JPEG, "image/jpeg")

    async def test_an_image_that_cannot_be_read_is_described(self, stage: Stage) -> None:
        """The store is away for a moment: the customer is answered all the same."""
        await _image(stage)
        await stage.fetch_files()
        stage.files.is_away = True
        await stage.after(5.0)

        assert _media(stage).content is None
        assert stage.sent == ["Certo!"]


async def test_an_agent_that_does_not_take_images_is_given_no_bytes(stage: Stage) -> None:
    """Nothing is read from the store for it."""
    await _image(stage)
    await stage.after(5.0)

    assert (_media(stage).content, _media(stage).size_bytes) == (None, len(JPEG))


class TestLinks:
    """An HTTP agent fetches a file by the link in its body."""

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"agent": {"secret": "s3cret"}, "server": {"public_url": "https://chat.example.com/"}}

    async def test_a_link_is_whole_and_signed(self, stage: Stage) -> None:
        """It opens this file of this account, for a while."""
        await _image(stage)
        await stage.after(5.0)

        media = _media(stage)
        url = urlsplit(media.url or "")
        assert (url.scheme, url.netloc, url.path) == (
            "https",
            "chat.example.com",
            f"/api/v1/media/{media.id}",
        )
        query = dict(parse_qsl(url.query))
        assert query["account"] == "default"
        for seconds, is_good in ((0.0, True), (LINK_SECONDS_MAX - 1.0, True), (1.0, False)):
            await stage.clock.advance(seconds)
            now = stage.clock.now()
            found = is_link_good(
                query["account"],
                media.id,
                expires=int(query["expires"]),
                signature=query["signature"],
                secret="s3cret",
                now=now,
            )
            assert found is is_good


async def test_without_a_secret_a_link_is_the_path(stage: Stage) -> None:
    """Such an agent has a token of its own; a file that is not there has no link."""
    await _image(stage)
    await stage.customer("[image]", type="image", media={"kind": "image", "id": "lost"})
    await stage.after(5.0)

    shown = [message.media for message in stage.agent.contexts[0].messages if message.media]
    assert [media.url for media in shown] == [f"/api/v1/media/{shown[0].id}", None]


class TestSuggestions:
    """An operator holds the conversation, and the agent helps."""

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"agent": {"suggest_to_operators": True}}

    @pytest.fixture
    async def stage(self, stage: Stage) -> Stage:
        await stage.customer("oi")
        await stage.after(5.0)
        await stage.command(Command.TAKE, await stage.operator("bia"))
        return stage

    async def test_a_suggestion_waits_for_the_words(self, stage: Stage) -> None:
        """As a turn would; then it is made of them, and is still the operator's to send."""
        await stage.audio()
        await stage.clock.advance(6.0)
        assert await claim_drafts(stage.runtime, limit=10) == []
        stage.transcriber.script("pra sexta")
        await stage.files_in()

        assert await _suggested(stage) == ["pra sexta"]
        assert len(await stage.rows("suggestion")) == 1

    async def test_it_does_not_wait_for_ever_and_is_made_again_of_late_words(self, stage: Stage) -> None:
        """After the deadline the audio is a marked part; what it says is worth another suggestion."""
        await stage.audio()
        await stage.fetch_files()
        (hearing,) = await stage.hearings()
        await stage.clock.advance(30.0)
        assert await _suggested(stage) == [f"[voice message] {NOT_TRANSCRIBED}"]
        assert await _suggested(stage) == []
        await stage.transcribe(hearing)

        assert await _suggested(stage) == ["transcribed words"]

    async def test_an_image_is_a_part_of_it(self, stage: Stage) -> None:
        """The agent that helps sees what the agent that answers would see."""
        await _image(stage)
        await stage.files_in()
        await stage.clock.advance(5.0)
        await _suggested(stage)

        media = stage.agent.contexts[-1].messages[0].media
        assert media is not None
        assert (media.mime_type, media.size_bytes) == ("image/jpeg", len(JPEG))


async def _suggested(stage: Stage) -> list[str | None]:
    """Have what is due suggested; what the agent was given for it."""
    known = len(stage.agent.contexts)
    for draft in await claim_drafts(stage.runtime, limit=10):
        answer = await suggest(stage.runtime, draft)
        assert isinstance(answer, Proposal)
        assert await keep_draft(stage.runtime, draft, answer)
    return [
        message.transcription or message.text
        for context in stage.agent.contexts[known:]
        for message in context.messages
    ]


class TestTriage:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"turns": {"debounce_seconds": 0.0}, "outbox": {"hold_seconds": 0.6}}

    async def test_triage_reads_what_was_said(self, stage: Stage) -> None:
        """On both sides of the reply: the words of the audio it answers, and of the one that overtook it."""
        stage.transcriber.script("quero cancelar")
        await stage.audio()
        await stage.run()
        await stage.clock.advance(0.3)
        stage.transcriber.script("na verdade não")
        await stage.audio()
        await stage.files_in()
        stage.decider.script(TriageDecision.CANCEL_FIRST)
        await stage.run()

        (request,) = stage.decider.requests
        assert (request.overtaken, request.newer) == (("quero cancelar",), ("na verdade não",))


async def test_a_policy_reads_what_was_said(stage: Stage) -> None:
    """Who asks for a lawyer by voice is handed over as who writes it."""
    rule = Rule(
        name="lawyer", pattern=re.compile("advogad"), hours=None, channels=(), suspends=False, note=""
    )
    stage.runtime = replace(stage.runtime, policies=(rule,))
    stage.transcriber.script("vou falar com meu advogado")
    await stage.audio()
    await stage.after(5.0)

    assert (await stage.authority())[0] == "HANDOFF_PENDING"
    assert stage.sent == []
