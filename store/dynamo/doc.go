// Package dynamo implements the store on Amazon DynamoDB, or on a database with the same protocol.
//
// Each table of Varve is a DynamoDB table. A row has the readings of one series in one row window,
// which is a millisecond by default:
//
//	series, ts       acme/weather/sensor_01, 1794916800000   hash key and range key
//	_ids             {"Yx2…", "b81…"}                        string set
//	temperature      {"Yx2…": 22.4, "b81…": 22.6}            one map id → value per field
//	_at, _ttl        arrivals in seconds since 1970; the earliest deletion
//	_scale, _size    decimals where DynamoDB drops zeros; bytes, unless the row is small and new
//
// [Store] passes each call to one of its parts. The packages writer and reader handle readings, and
// layouts handles stream rows. Package tables has the records, the catalog and the lifecycle of tables.
// Package items implements the registry, and template has the settings of new tables. The packages
// verify, repair and doctor check a deployment. The packages row and attr convert rows and values, admin
// changes tables, and client sends requests.
//
// These rules always hold:
//
//   - A reading is stored as a whole or not at all, and a reading with the verdict Stored or
//     Duplicate is durable. If the endpoint supports tags, a table is deleted only if it has the
//     deployment's owner tag.
//   - DynamoDB bills an update by the size of the whole row, and a row can have at most 400 KB. So
//     a row of 1 KB or more is closed: only an erasure changes it. Further readings of its row
//     window go to one of nine overflow rows below, at ts + 0.1 to ts + 0.9, and so on.
//   - The overflow path of a reading depends only on its time and key. A reading is stored in the
//     first row on its path that was open. So a write finds a duplicate in the rows of its path,
//     and a query from ts to ts + 1 finds all overflow rows.
//   - Rows under the hash key #streams record the layout of each stream in the table, before its
//     first reading is written. So readings can be found without the registry.
//
// Every method can be retried after a failure, even by another process. A Store is safe for
// concurrent use. No other store imports the AWS SDK. Tests in tests/access check the cost of each
// operation. docs/data-model.md describes all attributes of rows, and a test compares it with
// written rows. The form of rows follows the Fineo engineering post on time series in DynamoDB.
package dynamo
