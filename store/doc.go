// Package store defines the contracts between Varve and its stores.
//
//	router                             Writer, Creator
//	query                              Reader, Catalog
//	rotator                            Catalog, Creator, Lifecycle, Items
//	archive                            Reader, Enumerator, Items
//	archive, to restore                Writer, Creator, Lifecycle, Catalog
//	api                                Reader, Enumerator, Lifecycle, Items
//	rollup, changes, streams, fields   Items
//	devices, alerts, apikeys, lease    Items
//	erasures, rewind                   Store
//	engine, cmd/varve                  Store, and the optional contracts
//
// Each package receives only the contracts that it needs. So neither the write path nor the read
// path can change or drop a table. Three stores implement the contracts: store/mem, the model;
// store/local, the embedded store of one process; and store/dynamo, shared by a cluster. The suite
// store/storetest tests all three, and compares them with the model. The main types:
//
//   - [Store] has all required contracts. [Batch] and its [Result] are a write, [Range] and its
//     [Page] a read, [Info] describes a table, and [Item] is an entry of the registry.
//   - Optional contracts are [AtomicItems], [BlockReader], [DropCompleter], [ExpiredKeeper],
//     [Expirer], [LayoutReader], [Reserver], [Scaler], [Versioned], [VersionedItems] and
//     [VersionedReadings].
//   - [Layout] and [Expect] only affect how the store on DynamoDB stores readings. [GSI1] and
//     [GSI2] are named after its secondary indexes, but all stores implement them.
//
// These rules apply to every store:
//
//   - A reading that is Stored or Duplicate is durable, and every later consistent read returns it.
//   - A reading is stored as a whole or not at all, and at most once per table for one layout.
//   - Only a table that is owned, retired and not on hold can be dropped.
//
// A failure is an error of this package, an error with a [varve.Failure], or a verdict that rejects
// a single reading. If the [Result] of a batch has an error, no reading of the batch was written.
// After any other failure, a retry is safe: stored readings are duplicates. Stores are safe for
// concurrent use.
package store
