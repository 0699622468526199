// Package registry has the code that several packages share to store typed items in [store.Items].
//
//	devices  devicelog  alerts  streams  apikeys  fields
//	   │         │        │        │        │       │
//	   └─────────┴────────┴─ registry ──────┴───────┘
//	            codecs · Update · All · Merge · Cache
//	                          │
//	                     store.Items
//
// The main types and functions:
//
//   - [Reader] and the Put functions convert attributes.
//   - [Updater] changes an item, and retries if another process writes it meanwhile.
//   - [All] iterates over the pages of a query. [Merge] lists a range that is spread over several
//     partitions.
//   - [Cache] stores copies of values for a limited time.
//   - [DevicePK] and [TenantPK] name the partitions that several packages use.
//
// [TimeText] formats the times in keys, so that keys sort by time. A page of Merge is correct even if
// items were added, removed or moved since the page before.
//
// Errors of the store that [Updater.Update] returns name the failed action. All other functions
// return such errors unchanged, and their callers add the action. After a failed update, the item
// may have changed. A Cache is safe for concurrent use.
package registry
