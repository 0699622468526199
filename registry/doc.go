// Package registry has the parts that packages with typed records in store.Items
// share.
//
//	devices  devicelog  alerts  streams  apikeys  fields
//	   │         │        │        │        │       │
//	   └─────────┴────────┴─ registry ──────┴───────┘
//	            codecs · Update · All · Merge · Cache
//	                          │
//	                     store.Items
//
// Reader and the Put functions convert attributes. Update repeats a change until
// no other write comes in between. All iterates over the pages of a query. Merge
// lists a range that is spread over several partitions. Cache holds copies of
// records for a limited time.
//
// Times are written by TimeText everywhere, so that keys sort by time. The
// partitions that several packages use are named by DevicePK and TenantPK.
//
// Errors of the store are returned as they are; callers add what they were doing.
package registry
