// Package dynamo is the store on Amazon DynamoDB, or on anything with the same protocol. Only
// this package and its sub-packages import the AWS SDK.
//
// A table of Varve is a table of DynamoDB. A row holds the readings of one series in one
// row window, a millisecond by default:
//
//	series  (HASH)   acme/weather/sensor_01
//	ts      (RANGE)  1794916800000
//	_ids             {"Yx2…", "b81…"}            string set
//	temperature      {"Yx2…": 22.4, "b81…": 22.6}  one map id → value per field
//	_at              {"Yx2…": 1794916801.25, …}    arrival, seconds since 1970
//	_scale           {"Yx2…": {"temperature": 2}}  decimals, where DynamoDB drops zeros
//	_ttl             1797508801                  earliest deletion
//	_size            312                         bytes, after the first update
//
// Rows under the hash key #streams record the layout of each stream in the table. They are
// written before the first reading, so readings can be found without the registry.
//
// Store is the wiring: it opens the parts, and passes each call to one of them.
//
//	writer    readings to rows          reader    rows to readings
//	layouts   stream rows               tables    records, catalog, life of tables
//	items     registry                  template  settings of new tables
//	verify    checks of all rows        repair    lost metadata
//	doctor    checks of a deployment
//	row       form of rows              attr      form of values
//	admin     DynamoDB tables           client    requests, retries, usage
//	cache     the cache of the other parts
//
// # Closed rows
//
// DynamoDB bills an update by the size of the whole row, and a row ends at 400 KB. So a row
// of 1 KB or more is closed, and never changes again. Further readings of its window go to
// one of nine overflow rows below it, at ts + 0.1 to ts + 0.9. Below those are ts + 0.11 to
// ts + 0.99, and so on.
//
// The overflow path of a reading depends on its time and key only, so it is the same for
// every writer. A reading is stored in the first row on its path that was open. So a
// duplicate is found without a look at other rows, and a query from ts to ts + 1 finds all
// of them.
//
// # Invariants
//
// A reading is stored whole or not at all. Verdicts of Stored and Duplicate are durable. No
// table is deleted without the deployment's owner tag. Requests and units per operation are
// fixed; tests/access has the table.
//
// Every method may be retried after a failure, also by another process.
//
// docs/data-model.md has the complete form of rows, and a test that it is so. Source: the
// row is the one of the Fineo engineering post on time series in DynamoDB.
package dynamo
