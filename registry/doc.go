// Package registry has the code that is shared by the packages with typed items in store.Items.
//
//	devices  devicelog  alerts  streams  apikeys  fields
//	   │         │        │        │        │       │
//	   └─────────┴────────┴─ registry ──────┴───────┘
//	            codecs · Update · All · Merge · Cache
//	                          │
//	                     store.Items
//
// Reader and the Put functions convert attributes. Update changes an item, and retries if another
// process writes it meanwhile. All iterates over the pages of a query. Merge lists a range that is
// spread over several partitions. Cache stores copies of values for a limited time.
//
// All times are formatted by TimeText, so that keys sort by time. DevicePK and TenantPK name the
// partitions that several packages use.
//
// Errors of the store that Update returns name the failed action. All other functions return such
// errors unchanged, and their callers add the action.
package registry
