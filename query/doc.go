// Package query implements the read path for one series at a time.
//
//	Open     lists the tables that overlap the window and may contain live readings
//	  │
//	Rows     reads them and merges by position; omits expired readings and copies
//	Latest   reads the newest tables first, and no more than necessary
//	Explain  returns the tables and the estimated cost, and reads no table
//
// The main types:
//
//   - [Engine] runs a [Query] or a [LatestQuery].
//   - [Rows] yields the readings of a query, and a [Cursor] continues it.
//   - [Coverage] lists the tables on which an answer rests.
//   - [Trace] has all copies of a reading, and [Archive] provides the archived tables.
//
// These rules always hold:
//
//   - An expired reading is not returned, unless the query requests it.
//   - If a reading has copies in several tables, the live copy with the first arrival is returned.
//   - Pages with a cursor repeat no reading. They omit no reading that was stored before the first page,
//     unless it expires between two pages.
//   - A query with [WithArchives] returns every reading that exists in tables or in archives, once.
//
// If tables expired or are missing, the answer lacks their readings, and the coverage names these
// tables. If a table cannot be read, the query fails, and may be retried unless data is damaged. An
// Engine is safe for concurrent use. Only one goroutine may use Rows.
package query
