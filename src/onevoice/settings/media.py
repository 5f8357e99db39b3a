"""Where files are kept, and who turns voice messages into words."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from onevoice.settings.forms import (
    Number,
    check_bucket,
    check_filled,
    check_function,
    check_language,
    check_line,
    check_root_url,
    faults_of_keys,
    if_given,
)
from onevoice.settings.sections import Section


class MediaSettings(Section):
    """Where the files of messages are kept."""

    url: Annotated[str, if_given(check_bucket)] = Field(
        default="",
        description="S3-compatible storage, s3://bucket/prefix. Empty: the folder media in database.data_dir.",
    )
    endpoint_url: Annotated[str, if_given(check_root_url)] = Field(
        default="", description="The storage's address, where it is not Amazon's: https://minio.example:9000."
    )
    region: Annotated[str, AfterValidator(check_line)] = Field(
        default="", max_length=100, description="The storage's region. Empty: AWS_REGION, else us-east-1."
    )
    access_key_id: SecretStr = Field(
        default=SecretStr(""),
        description="Whose storage it is. Empty: AWS_ACCESS_KEY_ID and its like, or the machine's own role.",
    )
    secret_access_key: SecretStr = Field(default=SecretStr(""), description="The secret of access_key_id.")

    @model_validator(mode="after")
    def _keys_agree(self) -> Self:
        found: list[tuple[str, str]] = []
        pair = {
            "access_key_id": self.access_key_id.get_secret_value(),
            "secret_access_key": self.secret_access_key.get_secret_value(),
        }
        if any(pair.values()):
            found = [(key, "missing; give both keys, or neither") for key, value in pair.items() if not value]
        if not self.url:
            others = {"endpoint_url": self.endpoint_url, "region": self.region} | pair
            given = [key for key, value in others.items() if value]
            found += [(key, "says nothing without url; set url to s3://bucket") for key in given]
        if found:
            raise faults_of_keys(found)
        return self


class TranscriptionSettings(Section):
    """Who turns voice messages into words."""

    url: Annotated[str, if_given(check_root_url)] = Field(
        default="",
        description="An OpenAI-compatible provider, https://api.openai.com/v1 or the full …/audio/transcriptions. "
        "Empty, and no use: audios are not transcribed, and no turn waits for them.",
    )
    model: Annotated[str, AfterValidator(check_filled)] = Field(
        default="gpt-transcribe", max_length=200, description="The provider's model."
    )
    api_key: SecretStr = Field(
        default=SecretStr(""),
        description="The provider's key. Empty: none is sent, for a server of your own.",
    )
    language: Annotated[str, if_given(check_language)] = Field(
        default="", description='What is spoken, such as "pt". Empty: the model finds out.'
    )
    use: Annotated[str, if_given(check_function)] = Field(
        default="", description='Your own "module:function" instead of url.'
    )
    timeout_seconds: Number = Field(
        default=60.0, ge=0.1, le=600, description="How long one transcription may take."
    )
    price_per_minute: Number = Field(
        default=0.0,
        ge=0,
        le=1000,
        description="What a minute of audio costs, in your currency; counted in onevoice_transcription_cost_total.",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.url and self.use:
            raise faults_of_keys([("use", "cannot stand beside url; keep one of the two")])
        return self
