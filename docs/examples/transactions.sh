#!/bin/sh
# An account's transactions, in cents. Each has an id, so a retry is never booked
# twice. Roll-ups are exact and include late transactions.
set -eu
book() {
	varve ingest --stream transactions --format ndjson - >/dev/null
}
book <<'END'
{"device":"account-1","time":"2024-12-01T10:00:00Z","id":"tx-1","fields":{"amount":250000}}
{"device":"account-1","time":"2024-12-01T10:00:00Z","id":"tx-2","fields":{"amount":-1999}}
{"device":"account-1","time":"2024-12-24T16:45:00Z","id":"tx-3","fields":{"amount":-12050}}
END
book <<'END'
{"device":"account-1","time":"2024-12-24T16:45:00Z","id":"tx-3","fields":{"amount":-12050}}
{"device":"account-1","time":"2024-12-02T08:00:00Z","id":"tx-4","fields":{"amount":-35}}
{"device":"account-1","time":"2025-01-02T00:00:00Z","id":"tx-5","fields":{"amount":-100}}
END
echo "By the day:"
varve rollups transactions account-1 --period daily --from 2024-12-01 --to 2025-01-01 -o csv | cut -d, -f1,2,5
echo "Balance of December, in cents:"
varve rollups transactions account-1 --period daily --from 2024-12-01 --to 2025-01-01 -o csv | awk -F, 'NR > 1 { sum += $5 } END { print sum }'
