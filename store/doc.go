// Package store defines the contracts between Varve and its stores.
//
// The contracts are small, and each package receives only the contracts that it needs. So neither
// the write path nor the read path can change or drop a table:
//
//	router                     Writer, Creator
//	query                      Reader, Catalog
//	rotator                    Catalog, Creator, Lifecycle, Items
//	archive                    Reader, Enumerator, Items
//	archive, to restore        Writer, Creator, Lifecycle, Catalog
//	api                        Reader, Enumerator, Lifecycle, Items
//	rollup, changes            Items
//	streams, fields, devices   Items
//	alerts, apikeys, lease     Items
//	erasures, rewind           Store
//	engine, cmd/varve          Store, and the optional contracts
//
// Three stores implement the contracts, and one suite tests all three:
//
//	store/mem        the model: the simplest correct store
//	store/local      the embedded store of one process
//	store/dynamo     the store on DynamoDB, shared by a cluster
//	store/storetest  the conformance suite, and the comparison with the model
//
// The main types are [Store], [Batch] with its [Result], [Range] with its [Page], [Info] and
// [Item]. A store may also implement optional contracts: [AtomicItems], [BlockReader],
// [ExpiredKeeper], [Expirer], [LayoutReader], [Reserver], [Scaler], [Versioned] and
// [VersionedItems].
//
// [GSI1] and [GSI2] are named after the secondary indexes of DynamoDB, but all stores implement
// them. [Layout] and [Expect] only affect how the store on DynamoDB stores readings. The other
// stores ignore both.
//
// These rules apply to every store:
//
//   - A reading that is Stored or Duplicate is durable, and every later consistent read
//     returns it.
//   - A reading is stored as a whole or not at all, and at most once per table for one layout.
//   - Only a table that is owned, retired and not on hold can be dropped.
//
// A failure is an error of this package, an error with a [varve.Failure], or a verdict that
// rejects a single reading. If the [Result] of a batch has an error, no reading of the batch was
// written.
package store
