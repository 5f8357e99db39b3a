"""One model per kind of channel; a new kind adds one, also to ``CHANNEL_KINDS`` and ``AnyChannel``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from onevoice.settings.forms import (
    FilledSecret,
    Switch,
    as_secrets,
    check_color,
    check_filled,
    check_host_pattern,
    check_line,
    check_name,
    check_origin,
    check_root_url,
    check_secrets,
)
from onevoice.settings.sections import Section
from onevoice.vocabulary import AccountId, ChannelName

Secrets = Annotated[tuple[SecretStr, ...], BeforeValidator(as_secrets), AfterValidator(check_secrets)]


class ChannelSettings(Section):
    """What every connected number, bot or widget has."""

    name: Annotated[ChannelName, AfterValidator(check_name)] = Field(
        description="Its name in the webhook's URL, /webhooks/{name}; unique."
    )
    account: Annotated[AccountId, AfterValidator(check_name)] = Field(
        default=AccountId("default"), description="The account it belongs to."
    )


class WhatsAppChannelSettings(ChannelSettings):
    """A number on the WhatsApp Cloud API."""

    kind: Literal["whatsapp"] = Field(description="whatsapp")
    phone_number_id: str = Field(
        pattern=r"^[0-9]{5,32}$",
        description="The number's id (not the number), digits only: App Dashboard, WhatsApp, API Setup.",
    )
    access_token: FilledSecret = Field(
        description="A system user's permanent token with whatsapp_business_messaging."
    )
    app_secret: Secrets = Field(
        max_length=5,
        description="The Meta app's secret (App settings, Basic), which signs webhooks. A list rotates it.",
    )
    verify_token: FilledSecret = Field(
        description="A word of your own, entered again beside the webhook's URL in the Meta app."
    )
    graph_url: Annotated[str, AfterValidator(check_root_url)] = Field(
        default="https://graph.facebook.com/v23.0",
        description="The Graph API's base URL with its version; another one points it at a stand-in.",
    )
    media_hosts: tuple[Annotated[str, AfterValidator(check_host_pattern)], ...] = Field(
        default=(),
        max_length=20,
        description='Further hosts that get the access token to fetch files, over https: "media.example" '
        "or \"*.media.example\". Meta's own and graph_url's are known.",
    )
    typing_indicator: Switch = Field(
        default=True,
        description="Whether a customer's message is marked as read, and typing shown, while the agent works on it.",
    )


class WebchatChannelSettings(ChannelSettings):
    """The chat widget that onevoice serves itself; needs no secret."""

    kind: Literal["webchat"] = Field(description="webchat")
    title: Annotated[str, AfterValidator(check_filled)] = Field(
        default="Chat", max_length=80, description="The page's title: the business's name."
    )
    greeting: Annotated[str, AfterValidator(check_line)] = Field(
        default="", max_length=300, description="What an empty chat says. Empty: a standard greeting."
    )
    language: Literal["auto", "pt", "en"] = Field(
        default="auto", description="The page's language; auto: the browser's."
    )
    allowed_origins: tuple[Annotated[str, AfterValidator(check_origin)], ...] = Field(
        default=(),
        max_length=50,
        description='Sites that may embed the chat, as "https://shop.example". Their page needs public_url on https.',
    )
    color: Annotated[str, AfterValidator(check_color)] = Field(
        default="#1f6f63", description="The accent colour, as #rrggbb."
    )


CHANNEL_KINDS: dict[str, type[ChannelSettings]] = {
    "whatsapp": WhatsAppChannelSettings,
    "webchat": WebchatChannelSettings,
}

AnyChannel = Annotated[WhatsAppChannelSettings | WebchatChannelSettings, Field(discriminator="kind")]
