#!/bin/sh
# A sensor's hourly aggregates. Hours have different numbers of readings. So the
# mean of the day is the sum of the sums divided by the sum of the counts, and
# not the mean of the hours' means.
set -eu
varve ingest --stream climate --format csv - >/dev/null <<'END'
device,time,temperature
temp-1,2024-12-01T14:00:00Z,20.0
temp-1,2024-12-01T14:20:00Z,20.4
temp-1,2024-12-01T14:40:00Z,20.5
temp-1,2024-12-01T15:00:00Z,24.3
END
echo "By the hour:"
varve rollups climate temp-1 --period hourly --from 2024-12-01 --to 2024-12-02 --fields temperature
echo "The day:"
varve rollups climate temp-1 --period daily --from 2024-12-01 --to 2024-12-02 --fields temperature -o csv | cut -d, -f1,4,5,8
