// Package dynamo is the store on Amazon DynamoDB, or on another database with the same protocol. No
// other store imports the AWS SDK.
//
// Each table of Varve is a DynamoDB table. A row has the readings of one series in one row window,
// which is a millisecond by default:
//
//	series  (HASH)   acme/weather/sensor_01
//	ts      (RANGE)  1794916800000
//	_ids             {"Yx2…", "b81…"}            string set
//	temperature      {"Yx2…": 22.4, "b81…": 22.6}  one map id → value per field
//	_at              {"Yx2…": 1794916801.25, …}    arrival, seconds since 1970
//	_scale           {"Yx2…": {"temperature": 2}}  decimals, where DynamoDB drops zeros
//	_ttl             1797508801                  earliest deletion
//	_size            312                         bytes; a small new row may lack it
//
// Rows under the hash key #streams record the layout of each stream in the table. They are written
// before the first reading of the stream, so readings can be found without the registry.
//
// Store opens the parts, and passes each call to one of them:
//
//	writer    readings to rows          reader    rows to readings
//	layouts   stream rows               tables    records, catalog, lifecycle
//	items     registry                  template  settings of new tables
//	verify    checks of all rows        repair    lost metadata
//	doctor    checks of a deployment
//	row       form of rows              attr      form of values
//	admin     DynamoDB tables           client    requests, retries, usage
//	cache     bounded caches of the other parts (internal/cache)
//
// # Closed rows
//
// DynamoDB bills an update by the size of the whole row, and a row can have at most 400 KB. So a
// row of 1 KB or more is closed: only an erasure changes it. Further readings of its row window are
// written to one of nine overflow rows below it, at ts + 0.1 to ts + 0.9. The rows below those are
// at ts + 0.11 to ts + 0.99, and so on.
//
// The overflow path of a reading depends only on its time and key, so it is the same for every
// writer. A reading is stored in the first row on its path that was open. So a write finds a
// duplicate without reading other rows, and a query from ts to ts + 1 finds all overflow rows.
//
// # Invariants
//
// A reading is stored as a whole or not at all. A reading with the verdict Stored or Duplicate is
// durable. If the endpoint supports tags, a table is deleted only if it has the deployment's owner
// tag. Tests in tests/access check the number of requests and units of each operation.
//
// Every method can be retried after a failure, even by another process.
//
// docs/data-model.md describes all attributes of rows, and a test compares it with written rows.
// Source: the form of rows follows the Fineo engineering post on time series in DynamoDB.
package dynamo
