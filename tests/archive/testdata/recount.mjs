// Recounts archives with DuckDB, in plain SQL. The arguments are the cache with DuckDB, and the
// folder of the archives. The script prints one JSON object.
import { createRequire } from "node:module";
const [cache, folder] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(cache + "/node/")("@duckdb/node-api");
const db = await (await DuckDBInstance.create(":memory:")).connect();
const files = `read_parquet('${folder}/**/part-*.parquet', hive_partitioning = true, union_by_name = true)`;
const one = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();
console.log(JSON.stringify({
	total: await one(`SELECT count(*) AS rows, count(DISTINCT (tenant, stream, device, time, id, fields, others)) AS distinct_rows,
		count(DISTINCT (tenant, stream, device)) AS series, min(time)::VARCHAR AS first, max(arrived)::VARCHAR AS last_arrival FROM ${files}`),
	sums: await one(`SELECT device, count(*) AS rows, sum(fields.temperature)::VARCHAR AS temperature, max(fields.exact)::VARCHAR AS exact,
		sum(fields.mixed)::VARCHAR AS mixed, count(others->>'mixed') AS texts FROM ${files} GROUP BY device ORDER BY device`),
	partitions: await one(`SELECT DISTINCT class, month, "table" FROM ${files} ORDER BY ALL`),
	days: await one(`SELECT sum(readings)::VARCHAR AS readings, count(*) AS days FROM read_parquet('${folder}/**/digests-*.parquet')`),
	ids: await one(`SELECT device, count(id) AS own FROM ${files} GROUP BY device ORDER BY device`),
	window: await one(`SELECT count(*) AS rows FROM ${files} WHERE device = 'd1' AND time >= TIMESTAMP '2026-10-12 00:00:00' AND time < TIMESTAMP '2026-10-13 00:00:00'`),
}));
