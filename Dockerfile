# syntax=docker/dockerfile:1.7

# The image of one onevoice process: hash-pinned packages in a virtual environment, no compiler, no root.
FROM python:3.11.11-slim-bookworm AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/onevoice
WORKDIR /build
# The packages change less often than the code: a layer of their own.
COPY requirements.txt ./
RUN /opt/onevoice/bin/pip install --require-hashes --requirement requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/onevoice/bin/pip install --no-build-isolation --no-deps .


FROM python:3.11.11-slim-bookworm

RUN groupadd --gid 10001 onevoice \
    && useradd --uid 10001 --gid onevoice --no-create-home --home-dir /data --shell /usr/sbin/nologin onevoice \
    && install --directory --owner onevoice --group onevoice --mode 0700 /data
COPY --from=build /opt/onevoice /opt/onevoice

ENV PATH=/opt/onevoice/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ONEVOICE_DATABASE__DATA_DIR=/data
# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
# The embedded database and generated keys. onevoice.toml is mounted beside it, read-only.
VOLUME /data
WORKDIR /etc/onevoice
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=2)"]
ENTRYPOINT ["onevoice"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
