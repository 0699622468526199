// Package changes finds the readings of a stream by arrival: all that arrived since a cursor, each
// once, over all devices and event times.
//
//	write   Tracker   puts change markers, durable before their readings
//	read    Reader    settled time ─▶ minutes ─▶ markers ─▶ readings of series, by query
//	poll    Cursor    the settled time up to which all readings were returned
//
// A change marker records that readings of a series arrived in a minute, and the event hours of
// these readings. So a device that sends current readings needs about one marker a minute, however
// many it sends. If the write fails, its marker remains and is harmless.
//
// An arrival is settled if every write with it or an earlier one has ended. [Settled] returns the
// time up to which arrivals are settled, and [Horizon] makes it durable: a process that starts with
// an earlier clock continues from there. [Cluster] does the same for several processes. A cursor is
// never after the settled time.
//
// These rules always hold:
//
//   - The union of all pages since a time is the set of acknowledged readings that arrived since
//     that time.
//   - A reading is returned once, at its first arrival, however many copies of it exist. Once the
//     table of its first copy is dropped, a later copy is a new reading.
//   - Expired readings are not returned.
//   - A cursor from before the oldest complete time fails with [varve.Gone].
//
// In the registry, the items of a stream are in the partition CHANGES#<tenant>/<stream>, and its
// markers in CHANGES#<tenant>/<stream>#<shard>. In sort keys, the separator of devices is 0x1f,
// which no name of a device contains:
//
//	CHANGES            HORIZON                          the durable settled time
//	CHANGES            SHARED#WRITER#<process>          a member of the cluster
//	CHANGES            SHARED#ENDED, SHARED#EPOCH       the horizon of ended members, and the epoch
//	CHANGES            LAST#<minute>                    some stream has a marker of the minute; for 30 days
//	CHANGES#…          INDEX                            the time from which a stream is complete
//	CHANGES#…          M#<minute>                       some device has a marker of the minute
//	CHANGES#…#<shard>  <minute>␟<device>␟<hour>␟<hours>  change marker
package changes
