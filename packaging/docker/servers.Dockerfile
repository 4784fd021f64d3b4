# mcprove with Node and Python, for servers over stdio, from an archive that is unpacked beside it:
#   docker build --build-arg FOLDER=mcprove-0.1.0-x86_64-unknown-linux-musl --file packaging/docker/servers.Dockerfile .
FROM node:22-bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
ARG FOLDER
COPY ${FOLDER}/mcprove /usr/bin/mcprove
USER node
WORKDIR /work
ENTRYPOINT ["/usr/bin/mcprove"]
