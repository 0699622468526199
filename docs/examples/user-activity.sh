#!/bin/sh
# User activity: a user is a device, an action is a reading. The script shows a
# month, a day, and pages of two.
set -eu
varve ingest --stream activity --format csv - >/dev/null <<'END'
device,time,action,page
u17,2024-11-30T23:59:59Z,view,/
u17,2024-12-01T09:00:00Z,login,/login
u17,2024-12-01T09:00:05Z,view,/pricing
u17,2024-12-14T18:30:00Z,buy,/checkout
u17,2024-12-31T23:59:59Z,logout,/
u17,2025-01-01T00:00:00Z,login,/login
END
echo "In December:"
varve query activity u17 --during 2024-12 --fields action
echo "On the 1st:"
varve query activity u17 --during 2024-12-01 --fields action,page
echo "December, page by page:"
page() { # page [CURSOR] prints a page of two and sets cursor to its end
	varve query activity u17 --during 2024-12 --limit 2 -o csv --fields action ${1:+--cursor "$1"} 2>"$more" | cut -d, -f1,4
	cursor=$(sed -n 's/.*--cursor //p' "$more")
}
more=$(mktemp)
page
while [ -n "$cursor" ]; do page "$cursor"; done
rm "$more"
