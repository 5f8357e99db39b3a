"""Files: handed in before they are sent, and read by whoever may."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect

from onevoice.entrypoints.http.api.authentication import Caller, authenticate
from onevoice.entrypoints.http.api.content import MediaFile, media_file
from onevoice.entrypoints.http.api.errors import ApiError, error_responses, streamed_error_responses
from onevoice.entrypoints.http.api.services import ApiServices, Services
from onevoice.entrypoints.http.api.statements import SQL
from onevoice.entrypoints.http.files import serve_file
from onevoice.errors import MediaUnavailable, MessageUnsendable
from onevoice.flow.attachment.decide import FILE_BYTES_MAX
from onevoice.flow.attachment.link import is_link_good
from onevoice.flow.attachment.perform import keep_file, read_file
from onevoice.vocabulary import AccountId, Media, MediaId, MediaState

__all__ = ["router"]

router = APIRouter(tags=["media"])

_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_BINARY: dict[str, Any] = {"requestBody": {"required": True, "content": _BYTES}}
_bearer = HTTPBearer(auto_error=False, description="A token of `onevoice operator add NAME --token`.")


class StoredFile(MediaFile):
    """A file that was kept."""

    sha256: str = Field(description="Of its bytes, in hexadecimal digits.")


class MediaAnswer(BaseModel):
    """The file that was handed in."""

    media: StoredFile


@router.post(
    "/media",
    status_code=201,
    openapi_extra=_BINARY,
    responses=error_responses(400, 401, 413, 422, 503),
)
async def hand_in_file(
    request: Request,
    caller: Caller,
    services: Services,
    filename: Annotated[
        str | None,
        Header(
            alias="X-Filename", description="The name the customer sees, percent-encoded.", max_length=2000
        ),
    ] = None,
) -> MediaAnswer:
    """Keep a file to be sent: the body is its bytes, at most 100 MiB. What it is, the bytes say."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > FILE_BYTES_MAX:
        raise _too_large()
    try:
        file = await keep_file(
            services.runtime,
            caller.account,
            request.stream(),
            filename=unquote(filename) if filename else None,
            claimed_type=request.headers.get("content-type"),
        )
    except MessageUnsendable as error:
        if error.code == "file_too_large":
            raise _too_large() from None
        raise ApiError(422, error.code, f"{str(error).capitalize()}.") from None
    except MediaUnavailable as error:
        raise _away(error) from None
    except ClientDisconnect:
        raise ApiError(
            400, "cut_off", "The file ended in the middle; nothing was kept. Send it again."
        ) from None
    async with services.database.transaction("read_media", account=caller.account) as transaction:
        row = (await transaction.fetch(SQL["read_media"], caller.account, file.id))[0]
    shown = media_file(dict(row))
    assert shown is not None  # noqa: S101 - It was kept a moment ago.
    return MediaAnswer(media=StoredFile(**shown.model_dump(), sha256=row["sha256"].hex()))


@router.get(
    "/media/{media_id}",
    responses={
        200: {"content": _BYTES, "description": "The bytes."},
        206: {"content": _BYTES, "description": "The range that was asked for."},
        **streamed_error_responses(401, 404, 409, 416, 422, 503),
    },
    response_class=Response,
)
async def read_media(
    media_id: UUID,
    request: Request,
    services: Services,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    account: Annotated[str | None, Query(description="Of a signed link.", max_length=300)] = None,
    expires: Annotated[int | None, Query(description="Of a signed link.", ge=0, le=2**53)] = None,
    signature: Annotated[str | None, Query(description="Of a signed link.", max_length=200)] = None,
) -> Response:
    """The bytes of a message's file; with a token, or by the signed link that an agent was given."""
    media = MediaId(media_id)
    owner = await _owner(request, services, credentials, media, account, expires, signature)
    async with services.database.transaction("read_media", account=owner) as transaction:
        file = await read_file(transaction, owner, media)
    return await _answer(services, owner, file, request.headers.get("range"))


async def _owner(
    request: Request,
    services: ApiServices,
    credentials: HTTPAuthorizationCredentials | None,
    media: MediaId,
    account: str | None,
    expires: int | None,
    signature: str | None,
) -> AccountId:
    """Whose file may be read by this call."""
    if credentials is not None or account is None or expires is None or signature is None:
        return (await authenticate(request, credentials)).account
    async with services.database.transaction("check_link", account=AccountId(account)) as transaction:
        now = (await transaction.fetch(SQL["read_clock"], services.clock.now()))[0]["now"]
    secret = services.runtime.settings.agent.secret.get_secret_value()
    if not is_link_good(account, media, expires=expires, signature=signature, secret=secret, now=now):
        raise ApiError(
            401,
            "link_invalid",
            "The link is over or was changed; take a new one from the next turn, or send a token.",
        )
    return AccountId(account)


async def _answer(
    services: ApiServices, account: AccountId, file: Media | None, range_header: str | None
) -> Response:
    if file is None:
        raise ApiError(404, "media_unknown", "There is no such file; the timeline names those you can see.")
    if file.state is MediaState.WAITING:
        raise ApiError(
            409, "media_waiting", "The file is still on its way from the channel; ask again in a moment."
        )
    if file.state is MediaState.FAILED:
        raise ApiError(
            404,
            "media_failed",
            "The file could not be had from the channel; ask the customer to send it again.",
            reason=file.reason,
        )
    try:
        return await serve_file(services.runtime.media, account, file, range_header=range_header)
    except MediaUnavailable as error:
        raise _away(error) from None


def _too_large() -> ApiError:
    return ApiError(
        413, "file_too_large", f"The file has more than {FILE_BYTES_MAX} bytes; send a smaller one."
    )


def _away(error: MediaUnavailable) -> ApiError:
    if error.reason == "missing":
        return ApiError(404, "media_missing", "The store has lost the file; send it again.")
    return ApiError(
        503,
        "store_unavailable",
        "The store of files does not answer; try again.",
        headers={"Retry-After": "1"},
    )
