#!/bin/sh
# Logs of services: a service is a device, an entry is a reading. Two entries of
# one millisecond are both stored. A resent entry is stored once.
set -eu
varve ingest --stream app-logs --format ndjson - >/dev/null <<'END'
{"device":"checkout","time":"2024-12-01T13:59:59.900Z","fields":{"level":"info","message":"started"}}
{"device":"checkout","time":"2024-12-01T14:30:00.000Z","fields":{"level":"error","message":"card declined","user":"u17"}}
{"device":"checkout","time":"2024-12-01T14:30:00.000Z","fields":{"level":"warn","message":"retrying","user":"u17"}}
{"device":"checkout","time":"2024-12-01T14:30:00.000Z","fields":{"level":"warn","message":"retrying","user":"u17"}}
{"device":"checkout","time":"2024-12-01T15:00:00.000Z","fields":{"level":"info","message":"paid","user":"u17"}}
END
echo "The hour from 14:00:"
varve query app-logs checkout --during 2024-12-01T14 --fields level,message
echo "The newest two:"
varve query app-logs checkout --order desc --limit 2 --fields level,message 2>/dev/null
