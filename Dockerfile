# distriage serve and distriage worker: the runtime alone, as a user without rights, on a root file system that may be read-only.
# `tests/serving/test_container.py` carries these steps out without a Docker engine.

FROM python:3.11.13-slim-bookworm AS build
COPY --from=ghcr.io/astral-sh/uv:0.13.9 /uv /usr/local/bin/
WORKDIR /source
ENV VIRTUAL_ENV=/opt/distriage UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1
COPY requirements-serve.txt .
RUN uv venv /opt/distriage && uv pip install --require-hashes -r requirements-serve.txt
COPY . .
RUN uv pip install --no-deps --no-build-isolation .

FROM python:3.11.13-slim-bookworm
RUN useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin distriage && install -d -o 10001 -g 10001 /data
COPY --from=build /opt/distriage /opt/distriage
ENV PATH=/opt/distriage/bin:$PATH PIP_PYTHON=/opt/distriage/bin/python PYTHONUNBUFFERED=1 DISTRIAGE_HOST=0.0.0.0 DISTRIAGE_DATABASE=sqlite:////data/distriage.db
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import os, urllib.request as web; web.build_opener(web.ProxyHandler({})).open(f'http://127.0.0.1:{os.environ.get(\"DISTRIAGE_PORT\", 8000)}/readyz', timeout=4)"]
ENTRYPOINT ["distriage"]
CMD ["serve"]
