# Install what a bare Debian lacks and see that a PostgreSQL answers. Sourced by run, which keeps its address.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

packages=
command -v make >/dev/null || packages="$packages make"
python3 -c 'import venv, ensurepip' 2>/dev/null || packages="$packages python3 python3-venv"
command -v chromium >/dev/null || packages="$packages chromium"
command -v pg_lsclusters >/dev/null || packages="$packages postgresql"
if [ -n "$packages" ]; then
    as_root apt-get update -qq
    # shellcheck disable=SC2086  # Several words on purpose.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
fi

postgres_url=${ONEVOICE_TEST_DATABASE_URL:-postgresql://postgres@127.0.0.1:5432}
if ! psql --no-password --quiet --command 'select 1' "$postgres_url" >/dev/null 2>&1; then
    cluster=$(mktemp -d)
    as_root chown postgres "$cluster"
    binaries=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
    as_root su postgres -s /bin/sh -c "'$binaries/initdb' --auth=trust --no-sync '$cluster/data' >'$cluster/log' &&
        '$binaries/pg_ctl' --wait --log='$cluster/log' --pgdata='$cluster/data' \
            --options='-p 55432 -c listen_addresses=127.0.0.1 -c unix_socket_directories=$cluster -c fsync=off' start"
    postgres_url=postgresql://postgres@127.0.0.1:55432
fi
