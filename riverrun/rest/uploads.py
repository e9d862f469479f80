"""Files that come with a form: bounded, and kept only while the request is answered."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from riverrun.rest.problems import HttpProblem, bad_request
from riverrun.rest.routing import UploadedFile

_FIELD: Final = "jarfile"
_FORM_OVERHEAD: Final = 64 * 1024


@asynccontextmanager
async def uploaded(request: Request, limit: int) -> AsyncIterator[UploadedFile]:
    """The file in the form's field ``jarfile``; HttpProblem 400 or 413."""
    length = request.headers.get("content-length", "")
    if not length.isdigit():
        raise HttpProblem(HTTPStatus.LENGTH_REQUIRED, "upload: the length of the body is not given")
    if int(length) > limit + _FORM_OVERHEAD:
        raise HttpProblem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"upload: has {length} bytes, more than {limit}; raise 'rest.server.max-content-length'",
        )
    folder = Path(await run_in_threadpool(tempfile.mkdtemp, prefix="riverrun-upload-"))
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            part = form.get(_FIELD)
            if not isinstance(part, UploadFile):
                raise bad_request(f"upload: expected a form with a file in the field {_FIELD!r}")
            path = folder / "file"
            with path.open("wb") as file:
                while piece := await part.read(1 << 20):
                    await run_in_threadpool(file.write, piece)
            yield UploadedFile(part.filename or "", path)
    except MultiPartException as e:
        raise bad_request(f"upload: {e.message}") from e
    finally:
        await run_in_threadpool(shutil.rmtree, folder, ignore_errors=True)
