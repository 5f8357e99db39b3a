"""Files of a conversation on the console's own address: shown to whoever is signed in, and handed in to be sent."""

from __future__ import annotations

from urllib.parse import unquote
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from onevoice.entrypoints.console.refusal import Refusal
from onevoice.entrypoints.console.services import ConsoleServices
from onevoice.entrypoints.console.texts import TEXTS, unsendable_text
from onevoice.entrypoints.console.visit import Visit
from onevoice.entrypoints.http.files import serve_file
from onevoice.errors import MediaUnavailable, MessageUnsendable
from onevoice.flow.attachment.perform import keep_file, read_file
from onevoice.vocabulary import MediaId, MediaState

__all__ = ["hand_in_file", "show_file"]


async def show_file(services: ConsoleServices, visit: Visit, request: Request) -> Response:
    """A file of the operator's account, for the player or the picture in the thread."""
    media = _identity(request)
    async with services.database.transaction("console", account=visit.account) as transaction:
        file = await read_file(transaction, visit.account, media)
    if file is None or file.state is not MediaState.STORED:
        raise Refusal(404, "file_unknown")
    try:
        return await serve_file(
            services.runtime.media, visit.account, file, range_header=request.headers.get("range")
        )
    except MediaUnavailable as error:
        if error.reason == "missing":
            raise Refusal(404, "file_unknown") from None
        raise Refusal(503, "file_unavailable") from None


async def hand_in_file(services: ConsoleServices, visit: Visit, request: Request) -> Response:
    """Keep a file to be sent; the page's script reads the answer. The body is its bytes."""
    texts = TEXTS[visit.language]
    try:
        file = await keep_file(
            services.runtime,
            visit.account,
            request.stream(),
            filename=unquote(request.headers.get("x-filename", "")) or None,
            claimed_type=request.headers.get("content-type"),
        )
    except MessageUnsendable as error:
        message = unsendable_text(visit.language, error)
        return JSONResponse({"message": message}, status_code=422)
    except MediaUnavailable:
        return JSONResponse({"message": texts["file_unavailable"]}, status_code=503)
    return JSONResponse({"id": str(file.id), "name": file.filename or texts["file"]}, status_code=201)


def _identity(request: Request) -> MediaId:
    try:
        return MediaId(UUID(request.path_params["media"]))
    except ValueError:
        raise Refusal(404, "file_unknown") from None
