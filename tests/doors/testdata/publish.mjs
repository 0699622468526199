// Publishes messages with MQTT.js, and prints the reason codes and the answer to the last message.
import mqtt from 'mqtt'

const [url, key, version, count] = process.argv.slice(2)
const client = await mqtt.connectAsync(url, { username: key, protocolVersion: Number(version), clientId: 'js' })
const at = Date.now() - 3600_000
const codes = {}
const all = []
for (let i = 0; i < Number(count); i++) {
  const text = i === 3 ? 'not JSON' : JSON.stringify({ time: at + i, fields: { a: i } })
  all.push(client.publishAsync('varve/js/d1', text, { qos: 1 + (i % 2) }).then(
    () => { codes.ok = (codes.ok ?? 0) + 1 },
    (error) => { codes[error.code] = (codes[error.code] ?? 0) + 1 }))
}
await Promise.all(all)
if (version === '5') {
  await client.subscribeAsync('answers/js')
  const answer = new Promise((resolve) => client.on('message', (_, text, packet) => resolve(text + ' ' + packet.properties.correlationData)))
  const properties = { responseTopic: 'answers/js', correlationData: Buffer.from('7') }
  await client.publishAsync('varve/js/d1', JSON.stringify({ time: at, fields: { a: 0 } }), { qos: 1, properties })
  codes.answer = await answer
}
await client.endAsync()
console.log(JSON.stringify(codes))
