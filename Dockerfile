# Two images: `sillok`, with the embedded store, and `sillok-fdb`, which can also share a FoundationDB
# cluster with other nodes.
#   docker build --target sillok -t sillok:0.1.0 .
#   docker build --target sillok-fdb -t sillok-fdb:0.1.0 .

FROM rust:1.95-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends protobuf-compiler libprotobuf-dev libclang1 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
ENV CARGO_TARGET_DIR=/target
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/target \
    cargo build --locked -p sillok-cli --bin sillok \
    && cp /target/debug/sillok /usr/local/bin/sillok

# The client library, of the version that the cluster runs.
FROM foundationdb/foundationdb:7.3.79 AS client

FROM build AS build-fdb
COPY --from=client /usr/lib/libfdb_c.so /usr/lib/libfdb_c.so
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/target \
    cargo build --locked -p sillok-cli --bin sillok --features fdb \
    && cp /target/debug/sillok /usr/local/bin/sillok

FROM debian:bookworm-slim AS run
# Whom providers of models are trusted by.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# Nobody has this number on the machine, and it has no right to anything there.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/sillok"]

FROM run AS sillok-fdb
COPY --from=client /usr/lib/libfdb_c.so /usr/lib/libfdb_c.so
COPY --from=build-fdb /usr/local/bin/sillok /usr/local/bin/sillok

FROM run AS sillok
COPY --from=build /usr/local/bin/sillok /usr/local/bin/sillok
