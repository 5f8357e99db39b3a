"""A stand-in for S3-compatible storage on loopback: the few calls that keeping, reading and deleting a file need.

The real thing as a test dependency (moto's server) brings sixty packages. This one knows objects, ranges, uploads in
parts and deletions, demands a signed request, and keeps nothing of an upload that was not completed.
"""

from __future__ import annotations

import hashlib
import re
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

from onevoice.testing import AgentAnswer, AgentRequest, LoopbackAgent

BUCKET = "arquivos"
KEY_ID = "AKIAEXAMPLE"
_PART_BYTES_MIN = 5 * 2**20
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class LoopbackBucket:
    """The bucket ``arquivos``. ``objects`` are what it holds by key, ``uploads`` what is not completed."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.calls: list[str] = []
        self.is_broken = False
        self._upload_count = 0
        self._server = LoopbackAgent(otherwise=self._answer)

    @property
    def url(self) -> str:
        return self._server.url.removesuffix("/agent")

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    def _answer(self, request: AgentRequest) -> AgentAnswer:
        parts = urlsplit(request.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        self.calls.append(f"{request.method} {key}{'?' if query else ''}{','.join(sorted(query))}")
        if f"Credential={KEY_ID}/" not in request.headers.get("authorization", ""):
            return _xml(403, "AccessDenied")
        if bucket != BUCKET:
            return _xml(404, "NoSuchBucket")
        if self.is_broken:
            return _xml(403, "SlowDown")
        upload = query.get("uploadId", [""])[0]
        if "uploads" in query or upload:
            return self._upload(request, key, upload, int(query.get("partNumber", ["0"])[0]))
        if "delete" in query:
            return self._delete_many(request.body.decode())
        if request.method == "PUT":
            self.objects[key] = request.body
            return _stored(request.body)
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return AgentAnswer(status=204)
        return self._read(request, key)

    def _upload(self, request: AgentRequest, key: str, upload: str, number: int) -> AgentAnswer:
        if not upload:
            self._upload_count += 1
            upload = f"upload-{self._upload_count}"
            self.uploads[upload] = {}
            return _xml_body(
                f"<InitiateMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key>"
                f"<UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            )
        if request.method == "DELETE":
            self.uploads.pop(upload, None)
            return AgentAnswer(status=204)
        if request.method == "PUT":
            self.uploads[upload][number] = request.body
            return _stored(request.body)
        parts = self.uploads.pop(upload)
        whole = [parts[number] for number in sorted(parts)]
        if any(len(part) < _PART_BYTES_MIN for part in whole[:-1]):
            return _xml(400, "EntityTooSmall")
        self.objects[key] = b"".join(whole)
        return _xml_body(
            f"<CompleteMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key>"
            f'<ETag>"{hashlib.sha256(self.objects[key]).hexdigest()}"</ETag></CompleteMultipartUploadResult>'
        )

    def _delete_many(self, body: str) -> AgentAnswer:
        keys = re.findall(r"<Key>([^<]*)</Key>", body)
        for key in keys:
            self.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        return _xml_body(f"<DeleteResult>{deleted}</DeleteResult>")

    def _read(self, request: AgentRequest, key: str) -> AgentAnswer:
        content = self.objects.get(key)
        if content is None:
            return _xml(404, "NoSuchKey")
        headers = {"last-modified": "Wed, 21 Oct 2026 07:28:00 GMT", "etag": '"1"'}
        asked = _RANGE.fullmatch(request.headers.get("range", ""))
        if asked is None:
            return AgentAnswer(body=content, headers=headers)
        start, last = int(asked[1]), min(int(asked[2] or len(content)), len(content) - 1)
        if start >= len(content):
            return _xml(416, "InvalidRange")
        headers["content-range"] = f"bytes {start}-{last}/{len(content)}"
        return AgentAnswer(status=206, body=content[start : last + 1], headers=headers)


def _stored(content: bytes) -> AgentAnswer:
    return AgentAnswer(headers={"etag": f'"{hashlib.sha256(content).hexdigest()}"'})


def _xml(status: int, code: str) -> AgentAnswer:
    return _xml_body(f"<Error><Code>{code}</Code><Message>scripted</Message></Error>", status)


def _xml_body(text: str, status: int = 200) -> AgentAnswer:
    body = f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode()
    return AgentAnswer(status=status, body=body, headers={"content-type": "application/xml"})
