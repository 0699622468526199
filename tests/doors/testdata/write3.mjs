// Writes the lines of a file with InfluxData's client library for InfluxDB 3, and exits with 1 if
// it reports an error. Arguments: URL, key, file, and v2 or v3, the version of the route.
import { readFileSync } from 'node:fs'
import { InfluxDBClient, setLogger } from '@influxdata/influxdb3-client'

const [host, token, file, route] = process.argv.slice(2)
setLogger({ error() {}, warn() {} }) // the script prints the error below
const client = new InfluxDBClient({ host, token, database: 'db' })
try {
  await client.write(readFileSync(file, 'utf8').trim(), 'db', 'org', { noSync: route === 'v3' })
} catch (error) {
  console.error(String(error), error.body)
  process.exitCode = 1
}
await client.close()
